// The public names. A change here is a change users see: say so in CHANGELOG.md.
import { expect, test } from 'vitest'
import * as core from '../src/entries/core.ts'
import * as oracle from '../src/entries/oracle.ts'
import * as root from '../src/index.ts'

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
      "createLearnedSearch",
      "createMemoryResults",
      "createShelf",
      "explainBreak",
      "keepCapabilitiesFresh",
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
      "SEARCH_TOOL",
      "ShelfError",
      "answerSearch",
      "applyPolicy",
      "capabilityOf",
      "checkCall",
      "classicRank",
      "codingAgentPolicy",
      "compactHistory",
      "createHost",
      "createPureShelf",
      "defaultCapabilities",
      "describeReads",
      "describeSearches",
      "estimateTokens",
      "explainBreak",
      "foldHistory",
      "mcpName",
      "mergeCapabilities",
      "newConversation",
      "prefixHash",
      "prepareRequest",
      "presentMessages",
      "searchTools",
      "snipHistory",
    ]
  `)
})

test('toolshelf/oracle', () => {
  expect(Object.keys(oracle)).not.toEqual([])
  expect(Object.keys(oracle).sort()).toMatchInlineSnapshot(`
    [
      "countTokens",
      "extendsPrefix",
      "renderRequest",
      "signThinking",
      "thinkingPrefix",
      "validateRequest",
      "visibleTools",
      "walkRequest",
    ]
  `)
})
