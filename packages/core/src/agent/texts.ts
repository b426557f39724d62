/** What a model reads from the agent loop itself, in one place. */

export const repeatReminder = (count: number): string =>
  `The same call with the same arguments has now given the same result ${count} times in a row. Doing it again will not ` +
  "change anything. Try another way, or say what is in the way."
