import { Journal } from "@holdfast/core"
import { test } from "vitest"
import { journalConformance } from "../../src/index.ts"

journalConformance(test, "memory", { layer: Journal.layerMemory, persistent: false })
