// Data for the fixture: a few servers in every state, one of them hostile.
import type { About, ServerView, ToolView } from '../../../packages/inspector/src/api.ts'
import { sampleEvents } from './events.ts'
import type { FixtureData } from './server.ts'
import { HOSTILE, hostileText, sampleTools } from './tools.ts'

export function sampleAbout(part: Partial<About> = {}): About {
  return {
    version: '0.1.0',
    source: 'inspect',
    can: { conversations: true, search: true, manageServers: true, saveHints: true },
    recording: { files: ['audit.jsonl'], isLive: true, advice: 'toolshelf mcp --audit' },
    rankers: ['hybrid', 'lexical', 'bm25'],
    window: 200_000,
    ...part,
  }
}

function serverView(name: string, tools: readonly ToolView[], part: Partial<ServerView> = {}): ServerView {
  const own = tools.filter(({ server }) => server === name)
  const tokens = own.reduce((sum, tool) => sum + tool.tokens, 0)
  const always = own.reduce((sum, tool) => sum + (tool.isAlwaysLoaded ? tool.tokens : 0), 0)
  return {
    ...{
      name,
      state: 'connected',
      reason: null,
      transport: `stdio: npx ${name}-server`,
      source: 'toolshelf.json',
    },
    ...{ software: `${name}-server 1.2.0`, startMilliseconds: 812, tools: own.length, tokens },
    ...{ alwaysLoadedTokens: always, log: '', changes: [], problems: [] },
    actions: ['stop', 'reconnect', 'refresh'],
    ...part,
  }
}

export function sampleServers(tools: readonly ToolView[], isLong = false): ServerView[] {
  return [
    serverView('github', tools, {
      changes: [
        {
          ...{ kind: 'tool', name: 'create_issue', isHeld: true, version: 'v1' },
          before: 'description: Create a new issue\nlabels: optional',
          after: 'description: Create a new issue in a repository\nlabels: required',
        },
        {
          kind: 'instructions',
          name: 'instructions',
          isHeld: false,
          version: 'v2',
          before: 'Be brief.',
          after: 'Be brief and kind.',
        },
      ],
    }),
    serverView('slack', tools, {
      state: 'idle',
      startMilliseconds: null,
      actions: ['start', 'login'],
    }),
    serverView('files', tools, { log: 'listening on stdio\nread 3 folders\n' }),
    serverView('jira', tools, {
      ...{ state: 'failed', software: null, startMilliseconds: null, actions: ['reconnect'] },
      reason: 'the process ended with code 1 before it answered',
      log: 'Error: JIRA_TOKEN is not set\n    at start (server.js:12)\n',
    }),
    serverView('hostile', tools, {
      log: hostileText(isLong),
      problems: [
        { tool: 'trap', message: HOSTILE.bidi },
        { tool: '', message: HOSTILE.script },
      ],
    }),
  ]
}

/** `isLong`: the hostile server's texts are a megabyte each. */
export function sampleData(isLong = false): FixtureData {
  const tools = sampleTools(isLong)
  return { about: sampleAbout(), tools, servers: sampleServers(tools, isLong), events: sampleEvents(tools) }
}
