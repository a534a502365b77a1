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

  it.each([
    ['core/shelf.ts', 'Shelf'],
    ['core/shelf.ts', 'PureShelfOptions'],
    ['core/options.ts', 'Services'],
    ['core/options.ts', 'Settings'],
  ])('%s: every member of %s has one', (path, type) => {
    const [, body = ''] =
      new RegExp(`^export type ${type} = [^\\n]*\\{\\n(.*?)^\\}`, 'ms').exec(textOf(path)) ?? []
    const lines = body.split('\n')
    const members = lines.flatMap((line, index) => {
      const [, name] = /^ {2}(?:readonly )?(\w+)[?(<:]/.exec(line) ?? []
      return name === undefined ? [] : [{ name, isDocumented: isDocumented(lines, index) }]
    })
    expect(members.length).toBeGreaterThan(2)
    expect(members.filter(({ isDocumented }) => !isDocumented)).toEqual([])
  })
})
