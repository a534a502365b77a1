// Every name that users import, every method of a shelf and every option has a doc comment, which editors show; the main
// functions have an example.
import { describe, expect, it } from 'vitest'
import { readSource } from './support/source.ts'

const files = readSource()
const textOf = (path: string) => files.find((file) => file.path === path)?.text ?? ''

/** The names in the braces of `export { … }`. */
function exportedNames(text: string): string[] {
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gms)].flatMap(([, list = '']) =>
    list.split(','),
  )
  return lists.map((name) => name.replace('type ', '').trim()).filter((name) => name !== '')
}

/** Where the names of an entry are declared. */
const FOLDERS: Record<string, RegExp> = {
  'index.ts': /^(core(?!\/oracle)\/|node\/|rankers\/|validate\/|search\/learned\.ts)/,
  'entries/core.ts': /^(core(?!\/oracle)\/|lib\/own-tools\.ts)/,
  'entries/oracle.ts': /^core\/oracle\//,
  'entries/agent.ts': /^(agent\/|sandbox\/|lib\/diff\.ts)/,
  'entries/mcp.ts': /^(mcp|operate|sandbox)\//,
  'entries/messages.ts': /^(messages\/|operate\/|core\/figures\/|core\/reply\.ts)/,
}

/** What a new user calls first. */
const MAIN = [
  ...[
    'createShelf',
    'createPureShelf',
    'createHost',
    'presentMessages',
    'explainBreak',
    'applyPolicy',
    'keepCapabilitiesFresh',
  ],
  ...['rankers', 'createLearnedSearch', 'warmUpSearch', 'validateInput', 'validateRequest', 'extendsPrefix'],
  ...['createAgent', 'createPermissions', 'createSkills', 'createAgentMeter', 'openTranscript'],
  ...[
    'createMcpHost',
    'createMcpGateway',
    'readConfig',
    'openPins',
    'serveMcpGatewayOnHttp',
    'serveMcpGatewayOnStdio',
  ],
  ...['createMessagesGateway', 'createMessagesUpstream', 'createChatUpstream', 'createResponsesUpstream'],
  ...['createScriptUpstream', 'serveMessagesGateway', 'loadScript', 'createOAuth', 'createMcpMetrics'],
  ...['prepareRequest', 'answerSearch', 'checkCall', 'searchTools', 'compactHistory', 'foldHistory'],
  ...['createBuiltInTools', 'createAgentTool', 'createToolUseHelp', 'loadSkills', 'readTranscript'],
  ...['renderRequest', 'walkRequest', 'signThinking'],
]

/** Whether a line follows the end of a doc comment. */
const isDocumented = (lines: readonly string[], index: number) => /\*\/$/.test(lines[index - 1] ?? '')

describe('doc comments', () => {
  const names = Object.keys(FOLDERS).flatMap((path) =>
    exportedNames(textOf(path)).map((name) => ({ path, name })),
  )

  it.each(names)('$path: $name has one', ({ path: entry, name }) => {
    const declaration = new RegExp(`^export (?:async )?(?:function|const|type|class) ${name}\\b`)
    const places = files
      .filter(({ path }) => FOLDERS[entry]?.test(path))
      .flatMap(({ text }) => {
        const lines = text.split('\n')
        return lines.flatMap((line, index) => (declaration.test(line) ? [isDocumented(lines, index)] : []))
      })
    expect(places).toContain(true)
    expect(places).not.toContain(false)
  })

  it.each(MAIN)('%s has an example', (name) => {
    const declaration = new RegExp(`^export (?:async )?(?:function|const) ${name}\\b`, 'm')
    const comments = files.flatMap(({ path, text }) => {
      const at = path.startsWith('cli/') ? -1 : text.search(declaration)
      return at < 0 ? [] : [text.slice(text.lastIndexOf('/**', at), at)]
    })
    expect(comments.length).toBeGreaterThan(0)
    for (const comment of comments) expect(comment).toMatch(/^\/\*\*\n.*@example\n(?:(?!\*\/).)*\*\/\n$/s)
  })

  const optionTypes = Object.keys(FOLDERS).flatMap((path) => {
    const types = exportedNames(textOf(path)).filter((name) =>
      /^[A-Z].*(Options|Timeouts|Limits|Settings)$/.test(name),
    )
    return types.map((type) => ({ path, type }))
  })

  it.each([
    ...optionTypes,
    { path: 'index.ts', type: 'ShelfOptions' },
    ...['Shelf', 'Services', 'ForkOptions'].map((type) => ({ path: 'entries/core.ts', type })),
  ])('$path: every member of $type has one, with the default of plain values', ({ path: entry, type }) => {
    const declaration = new RegExp(`^export type ${type}\\b[^\\n]*\\{\\n(.*?)^\\}`, 'ms')
    const bodies = files
      .filter(({ path }) => path === entry || FOLDERS[entry]?.test(path))
      .flatMap(({ text }) => declaration.exec(text)?.[1] ?? [])
    const found = bodies.flatMap(membersOf)
    expect(found.length).toBeGreaterThan(0)
    const isLimits = /(Timeouts|Limits)$/.test(type)
    const wrong = found.filter(({ comment, isPlain, isOptional }) =>
      isPlain && (isOptional || isLimits) ? !/default/i.test(comment) : comment === '',
    )
    expect(wrong.map(({ name }) => name)).toEqual([])
  })
})

/** The members in the body of an object type, with their doc comments. */
function membersOf(body: string) {
  const member = /(\/\*\*(?:(?!\*\/).)*\*\/\n)?^ {2}(?:readonly )?(\w+)(\??)[(<:]([^\n]*)/gms
  return [...body.matchAll(member)].map(([, comment = '', name, mark, type = '']) => ({
    name,
    comment,
    isOptional: mark === '?',
    isPlain: /^ (number|boolean|string|'[^']*'|[| ])+$/.test(type),
  }))
}
