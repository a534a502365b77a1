// The public names. A change here is a change users see: say so in CHANGELOG.md.
import { expect, test } from 'vitest'
import * as root from '../packages/core/src/index.ts'
import * as core from '../packages/core/src/pure.ts'
import * as oracle from '../packages/messages/src/oracle.ts'

test('toolshelf', () => {
  expect(Object.keys(root)).not.toEqual([])
  expect(Object.keys(root).sort()).toMatchInlineSnapshot(`
    [
      "ShelfError",
      "applyPolicy",
      "capabilitiesFromFile",
      "capabilitiesFromUrl",
      "codingAgentPolicy",
      "createDiskResults",
      "createMemoryResults",
      "createShelf",
      "defaultCapabilities",
      "estimateTokens",
      "explainBreak",
      "keepCapabilitiesFresh",
      "mcpName",
      "presentMessages",
      "rankers",
      "validateInput",
      "warmUpSearch",
    ]
  `)
})

test('toolshelf/core', () => {
  expect(Object.keys(core)).not.toEqual([])
  expect(Object.keys(core).sort()).toMatchInlineSnapshot(`
    [
      "createPureShelf",
      "foldHistory",
    ]
  `)
})

test('@toolshelf/messages/oracle', () => {
  expect(Object.keys(oracle)).not.toEqual([])
  expect(Object.keys(oracle).sort()).toMatchInlineSnapshot(`
    [
      "countTokens",
      "extendsPrefix",
      "renderRequest",
      "signThinking",
      "validateRequest",
      "visibleTools",
    ]
  `)
})
