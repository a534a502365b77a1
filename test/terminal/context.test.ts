// The lines of `/context` about what is on the shelf.
import { expect, it } from 'vitest'
import { type ContextReport, contextLines } from '../../packages/cli/src/chat/commands.ts'

const report = (results: ContextReport['results']): ContextReport => ({
  ...{ window: 200_000, deferred: { tools: 3, builtIn: 1, tokens: 900 }, results },
  parts: [{ label: 'conversation', tokens: 1000, mark: '▒' }],
})

it('names the newest long results with their kind and size, and counts the older ones', () => {
  const results = Array.from({ length: 7 }, (_, number) => ({
    ...{ handle: `result_${number}`, tool: `mcp__shop__list_${number}`, kind: 'JSON' as const },
    size: 29_000 * (number + 1),
  }))
  const lines = contextLines(report(results), 'now')
  expect(lines.slice(-7)).toEqual([
    '  results, not in it        280,000         7 on the shelf',
    '    mcp__shop__list_6: JSON, about 70,000 tokens',
    '    mcp__shop__list_5: JSON, about 60,000 tokens',
    '    mcp__shop__list_4: JSON, about 50,000 tokens',
    '    mcp__shop__list_3: JSON, about 40,000 tokens',
    '    mcp__shop__list_2: JSON, about 30,000 tokens',
    '    and 2 older',
  ])
})

it('says how many of the deferred tools are built in', () => {
  const all = report([])
  expect(contextLines(all, 'now').at(-1)).toMatch(/ 900 +3 tools on the shelf, 1 of them built in$/)
  const none = { ...all, deferred: { ...all.deferred, builtIn: 0 } }
  expect(contextLines(none, 'now').at(-1)).toMatch(/3 tools on the shelf$/)
})

it('says nothing of results where there are none', () => {
  expect(contextLines(report([]), 'now').join()).not.toContain('results')
})
