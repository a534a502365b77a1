// Tools of imagined servers, for the inspector's tests.
import type { ToolView } from '../../../src/inspector/index.ts'

type Given = Partial<ToolView> & { readonly original: string; readonly server: string }

const text = (description: string) => ({ type: 'string', description })

export function toolView({ original, server, ...rest }: Given): ToolView {
  return {
    name: `mcp__${server}__${original}`,
    server,
    original,
    description: '',
    hint: '',
    tokens: 120,
    isAlwaysLoaded: false,
    isReadOnly: false,
    inputSchema: { type: 'object', properties: {} },
    ...rest,
  }
}

/** Texts of a server that wants to harm whoever looks at it; `long` is a megabyte, for the test that needs it. */
export const HOSTILE = {
  script: '<img src=x onerror="window.__harmed=true"><script>window.__harmed=true</script>',
  ansi: 'red \u001b[31malert\u001b[0m \u001b]8;;http://evil.example\u0007link\u001b]8;;\u0007',
  bidi: 'safe\u202etxt.exe\u202c and \u2066hidden\u2069 \u200bzero',
  long: `${'word '.repeat(200_000)}THE END`,
}

const nested = {
  type: 'object',
  required: ['title', 'labels'],
  properties: {
    title: text('Title of the issue'),
    priority: { type: 'string', enum: ['low', 'normal', 'urgent'], default: 'normal' },
    estimate: { type: 'integer', minimum: 1, maximum: 100, description: 'Hours' },
    isPrivate: { type: 'boolean' },
    labels: { type: 'array', items: text('Name of a label') },
    assignee: {
      type: 'object',
      required: ['login'],
      properties: { login: text('Login of the person'), notify: { type: 'boolean' } },
    },
    target: {
      oneOf: [{ type: 'object', properties: { milestone: { type: 'string' } } }, { type: 'string' }],
    },
  },
}

const GITHUB = [
  ['create_issue', 'Create a new issue in a repository', nested, 420],
  ['list_issues', 'List issues of a repository, filtered by state and label', undefined, 260],
  ['create_pull_request', 'Open a pull request from one branch to another', undefined, 380],
  ['search_code', 'Search for code across repositories', undefined, 190],
  ['get_file_contents', 'Read a file or a folder of a repository', undefined, 150],
] as const

const SLACK = [
  ['post_message', 'Send a message to a channel', undefined, 210],
  ['list_channels', 'List the channels of the workspace', undefined, 110],
  ['add_reaction', 'React to a message with an emoji', undefined, 90],
] as const

const FILES = [
  ['read_file', 'Read the complete contents of a file', undefined, 130],
  ['write_file', 'Create a file or overwrite an existing one', undefined, 140],
  ['search_files', 'Find files whose names match a pattern', undefined, 160],
] as const

type Row = readonly [string, string, unknown, number]

function serverTools(server: string, rows: readonly Row[]): ToolView[] {
  return rows.map(([original, description, inputSchema, tokens]) =>
    toolView({
      ...{ original, server, description, tokens },
      isReadOnly: /^(list|get|read|search)/.test(original),
      inputSchema: inputSchema ?? { type: 'object', properties: { query: text('What to look for') } },
    }),
  )
}

export function hostileText(isLong: boolean): string {
  const { long, ...short } = HOSTILE
  return [...Object.values(short), ...(isLong ? [long] : [])].join('\n')
}

export function sampleTools(isLong = false): ToolView[] {
  const files = serverTools('files', FILES).map((tool) => ({ ...tool, isAlwaysLoaded: true }))
  const hostile = toolView({
    ...{ original: 'trap', server: 'hostile', tokens: 5000 },
    description: hostileText(isLong),
    inputSchema: {
      type: 'object',
      required: ['__proto__'],
      properties: { ['__proto__']: { type: 'string', description: HOSTILE.script }, self: { $ref: '#' } },
    },
  })
  return [...serverTools('github', GITHUB), ...serverTools('slack', SLACK), ...files, hostile]
}

export function manyTools(count: number): ToolView[] {
  return Array.from({ length: count }, (_, at) =>
    toolView({
      original: `tool_${at}`,
      server: `server-${at % 50}`,
      description: `Does thing number ${at} with records and reports`,
      tokens: 40 + ((at * 37) % 900),
      isReadOnly: at % 2 === 0,
    }),
  )
}
