// Tools of imagined servers, for the inspector's tests.
import type { ToolView } from '../../../packages/inspector/src/api.ts'

type Given = Partial<ToolView> & { readonly original: string; readonly server: string }

export function toolView({ original, server, ...rest }: Given): ToolView {
  return {
    name: `mcp__${server}__${original}`,
    server,
    original,
    description: '',
    hint: '',
    tokens: 120,
    isAlwaysLoaded: false,
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

const GITHUB = [
  ['create_issue', 'Create a new issue in a repository', 420],
  ['list_issues', 'List issues of a repository, filtered by state and label', 260],
  ['create_pull_request', 'Open a pull request from one branch to another', 380],
  ['search_code', 'Search for code across repositories', 190],
  ['get_file_contents', 'Read a file or a folder of a repository', 150],
] as const

const SLACK = [
  ['post_message', 'Send a message to a channel', 210],
  ['list_channels', 'List the channels of the workspace', 110],
  ['add_reaction', 'React to a message with an emoji', 90],
] as const

const FILES = [
  ['read_file', 'Read the complete contents of a file', 130],
  ['write_file', 'Create a file or overwrite an existing one', 140],
  ['search_files', 'Find files whose names match a pattern', 160],
] as const

type Row = readonly [string, string, number]

function serverTools(server: string, rows: readonly Row[]): ToolView[] {
  return rows.map(([original, description, tokens]) => toolView({ original, server, description, tokens }))
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
    }),
  )
}
