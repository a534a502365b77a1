// The contract between the inspector's page and the process that serves it: every endpoint's path, input and output.
// Imported by both sides, so that neither can change it alone.
//
// The page: `page/main.tsx`, which imports its style sheets, is bundled into `page.js` and `page.css`. The
// process writes the HTML around them: `<html lang="en">`, an empty `<div id="app">`, and nothing inline. The content
// security policy allows files and requests of the same origin alone: no inline script, no `style` attribute in markup
// (styles set by script are fine), images as files or `data:`.
//
// The key: every request to an endpoint carries `Authorization: Bearer <key>`. The URL that a user opens ends in
// `#key=<key>`; the page keeps the key in `sessionStorage` and removes it from the address. On a 401 it
// asks the user for the key.
import type { TraceRecord } from '@toolshelf/core/internal'

/** Endpoints, relative to the page. Bodies and answers are JSON, except `events`. */
export const endpoints = {
  /** GET → `About`. */
  about: 'api/about',
  /**
   * GET → lines of JSON (`EventLine`): first the recorded events, oldest first, then each new one as it happens. The
   * response stays open while the process records. `?since=<ISO time>` continues after a lost connection; readers drop
   * what they know by `processId` and `sequence`.
   */
  events: 'api/events',
  /** GET → `ServerView[]`. */
  servers: 'api/servers',
  /** GET → `ToolView[]`. */
  tools: 'api/tools',
  /** POST `SearchInput` → `SearchView`. */
  search: 'api/search',
  /** POST `HintInput` → `HintView`. */
  hint: 'api/hint',
  /** POST `ServerActionInput` → `ServerView`. */
  serverAction: 'api/server-action',
  /** POST `PinInput` → `ServerView`. */
  pins: 'api/pins',
  /** POST `ExportInput` → `ExportView`. */
  export: 'api/export',
} as const

/** Name of the parameter in the URL fragment that holds the key. */
export const KEY_PARAMETER = 'key'

/**
 * The body of an error response. Statuses: 400 wrong input, 401 missing or wrong key, 403 foreign host
 * or origin, or not for this reader, 404 nothing of that name, 409 changed since it was shown, 413 too large, 429 and 503
 * too much at once, 502 the server failed.
 */
export type FailureView = { readonly error: string }

/** What serves the page, and what the page can do there. */
export type About = {
  readonly version: string
  readonly source: 'inspect' | 'mcp' | 'serve'
  /** Parts of the page that work here; the others say why not. */
  readonly can: {
    readonly conversations: boolean
    readonly search: boolean
    readonly manageServers: boolean
    readonly saveHints: boolean
  }
  readonly recording: {
    /** The file or files that events come from; undefined if they come from the process itself. */
    readonly files: readonly string[]
    /** New events will follow. */
    readonly isLive: boolean
    /** How to record, if there is nothing to show yet: a command to copy. */
    readonly advice: string
  }
  /** Names of the rankers that the playground compares, the default first. */
  readonly rankers: readonly string[]
  /** Tokens of the context window that shares are shown of. */
  readonly window: number
}

/** One line of `events`. */
export type EventLine =
  | TraceRecord
  /** The recorded events are complete; what follows happens now. `skipped`: older events beyond the limit. */
  | { readonly type: 'caught-up'; readonly events: number; readonly skipped: number; readonly broken: number }

/** A server as the page shows it. */
export type ServerView = {
  readonly name: string
  readonly state: 'idle' | 'pending' | 'connected' | 'failed' | 'disabled' | 'untrusted'
  readonly reason: string | null
  /** `stdio: npx …` or the URL's host, without secrets. */
  readonly transport: string
  readonly source: string
  readonly software: string | null
  readonly startMilliseconds: number | null
  readonly tools: number
  readonly tokens: number
  /** Tokens of its definitions that every request carries. */
  readonly alwaysLoadedTokens: number
  /** The last lines of its stderr, without secrets. */
  readonly log: string
  readonly changes: readonly PinChange[]
  readonly problems: readonly { readonly tool: string; readonly message: string }[]
  /** What `serverAction` accepts for it now. */
  readonly actions: readonly ServerAction[]
}

/** A definition that differs from the one first seen. */
export type PinChange = {
  readonly kind: 'tool' | 'prompt' | 'instructions'
  readonly name: string
  /** The accepted text and the present one, as readable lines; null where there is none. */
  readonly before: string | null
  readonly after: string | null
  /** It cannot be used until it is accepted. */
  readonly isHeld: boolean
  /** Identifies this very change: only what was shown can be accepted. */
  readonly version: string
}

/** What a user can do with a server. */
export type ServerAction = 'start' | 'stop' | 'reconnect' | 'refresh' | 'login'
/** An action on a server. */
export type ServerActionInput = { readonly server: string; readonly action: ServerAction }
/** Accepts the present definitions. */
export type PinInput = {
  readonly server: string
  readonly kind: PinChange['kind']
  readonly names: readonly string[]
  /** The `version` of each of `names`, as the page has shown it. */
  readonly versions: readonly string[]
}

/** A tool of the pool as the page shows it. */
export type ToolView = {
  readonly name: string
  readonly server: string | null
  readonly original: string
  readonly description: string
  readonly hint: string
  readonly tokens: number
  /** Sent with every request. */
  readonly isAlwaysLoaded: boolean
}

/** A search in the playground; nothing is loaded or saved. */
export type SearchInput = {
  readonly query: string
  /** Hits per ranker. Default: 10. */
  readonly limit?: number
  /** Names of rankers; all of `about.rankers` if left out. */
  readonly rankers?: readonly string[]
  /** The tool that should come first: its rank and explanation are in the answer, however low it ranks. */
  readonly expected?: string
  /** Tried for this search alone, on the expected tool. */
  readonly change?: {
    readonly hint?: string
    readonly description?: string
    /** As if the tool had this name. */
    readonly alias?: string
  }
}

/** The answer to a search, one ranking per ranker. */
export type SearchView = {
  readonly query: string
  readonly searched: number
  /** The query in English words, if it was translated. */
  readonly translation: {
    readonly language: string
    readonly words: readonly { readonly from: string; readonly to: readonly string[] }[]
  } | null
  readonly rankings: readonly RankingView[]
  /** What would lift the expected tool, best first, each tried on the default ranker; empty without that one. */
  readonly suggestions: readonly Suggestion[]
}

/** The hits of one ranker. */
export type RankingView = {
  readonly ranker: string
  readonly matched: number
  readonly milliseconds: number
  readonly hits: readonly RankedHit[]
  /** The expected tool, also if it is among `hits`; `rank` is null if the ranker did not find it. */
  readonly expected: (Omit<RankedHit, 'rank'> & { readonly rank: number | null }) | null
  /** Why this ranker could not search, e.g. the query is no pattern. */
  readonly error: string | null
}

/** A hit with the explanation of its score. */
export type RankedHit = {
  readonly rank: number
  readonly name: string
  readonly server: string | null
  readonly description: string
  readonly score: number
  /** What each part contributed to the score, largest first; empty for rankers without an explanation. */
  readonly parts: readonly { readonly label: string; readonly amount: number }[]
  /** Which word of the query met which word of the tool, and in which fields. */
  readonly words: readonly {
    readonly word: string
    readonly term: string
    readonly how: string
    readonly amount: number
    readonly fields: readonly { readonly field: string; readonly amount: number }[]
  }[]
}

/** A hint, description or alias for the expected tool, and the rank that it would get. */
export type Suggestion = {
  readonly kind: 'hint' | 'description' | 'alias'
  readonly text: string
  readonly rankBefore: number | null
  readonly rankAfter: number | null
}

/** Writes a tool's hint into the configuration; without `isConfirmed` only the difference is returned. */
export type HintInput = { readonly tool: string; readonly hint: string; readonly isConfirmed: boolean }
/** The change of the configuration, proposed or written. */
export type HintView = {
  readonly file: string
  /** The changed lines with some around them: each starts with `+`, `-` or a space; `@@` stands for lines left out. */
  readonly diff: string
  readonly isWritten: boolean
}

/** Which conversations to export; all if left out. */
export type ExportInput = { readonly conversations?: readonly string[] }
/** What an exported file contains; the page opens it again. */
export type ExportView = {
  readonly format: 'toolshelf-events'
  readonly version: 1
  readonly events: readonly TraceRecord[]
  /** What was replaced, to be shown before the file is saved. */
  readonly redactions: readonly { readonly what: string; readonly count: number }[]
}
