// The public names. A change here is a change users see: say so in CHANGELOG.md.
import { expect, test } from 'vitest'
import * as core from '../src/core/index.ts'
import * as oracle from '../src/core/oracle/index.ts'
import * as root from '../src/index.ts'

test('toolshelf', () => {
  expect(Object.keys(root)).not.toEqual([])
  expect(Object.keys(root).sort()).toMatchInlineSnapshot(`
    [
      "ShelfError",
      "buildPool",
      "capabilities",
      "capabilitiesFromFile",
      "capabilitiesFromUrl",
      "capabilityOf",
      "classic",
      "codingHost",
      "compactHistory",
      "createShelf",
      "emptyState",
      "estimateTokens",
      "explainBreak",
      "foldHistory",
      "keepFresh",
      "markByTable",
      "mcpName",
      "mergeCapabilities",
      "nearest",
      "newMemory",
      "prefixHash",
      "prepare",
      "present",
      "readKind",
      "resolveOptions",
      "searchKind",
      "snipHistory",
      "splitName",
      "validate",
    ]
  `)
})

test('toolshelf/core', () => {
  expect(Object.keys(core)).not.toEqual([])
  expect(Object.keys(core).sort()).toMatchInlineSnapshot(`
    [
      "ShelfError",
      "buildPool",
      "capabilities",
      "capabilityOf",
      "classic",
      "codingHost",
      "compactHistory",
      "createShelf",
      "emptyState",
      "estimateTokens",
      "explainBreak",
      "foldHistory",
      "markByTable",
      "mcpName",
      "mergeCapabilities",
      "nearest",
      "newMemory",
      "prefixHash",
      "prepare",
      "present",
      "readKind",
      "resolveOptions",
      "searchKind",
      "snipHistory",
      "splitName",
    ]
  `)
})

test('toolshelf/oracle', () => {
  expect(Object.keys(oracle)).not.toEqual([])
  expect(Object.keys(oracle).sort()).toMatchInlineSnapshot(`
    [
      "countTokens",
      "extendsPrefix",
      "render",
      "sign",
      "thinkingPrefix",
      "validate",
      "visibleTools",
    ]
  `)
})
