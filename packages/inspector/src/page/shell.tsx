// The frame around every page: navigation, connection, theme, shortcuts, announcements.
import { useEffect, useState } from 'preact/hooks'
import { followEvents } from './app/events.ts'
import { KeyForm } from './app/key-form.tsx'
import { linkTo, PAGE_NAMES, type PageName, type Route, useRoute } from './app/route.ts'
import { Shortcuts, useShortcuts } from './app/shortcuts.tsx'
import { type AppState, type ConnectionState, useApp, useAppHandle } from './app/state.ts'
import { applyTheme, storedTheme, THEMES, type Theme } from './app/theme.ts'
import { useDroppedFiles } from './conversations/open-file.tsx'
import { ConversationsPage } from './conversations/page.tsx'
import { CostsPage } from './costs/page.tsx'
import { PlaygroundPage } from './playground/page.tsx'
import { ServersPage } from './servers/page.tsx'
import { formatCount } from './ui/format.ts'

const TITLES: { readonly [page in PageName]: string } = {
  conversations: 'Conversations',
  search: 'Search',
  costs: 'Costs',
  servers: 'Servers',
}

export function Shell() {
  const app = useAppHandle()
  const state = useApp()
  const route = useRoute()
  const [isHelpShown, setHelpShown] = useState(false)
  useDroppedFiles(app)
  useShortcuts(() => setHelpShown(true))
  useEffect(() => {
    document.title = `${TITLES[route.page]} – Toolshelf`
  }, [route.page])
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the page
      </button>
      <header class="top">
        <p class="brand">toolshelf</p>
        <Navigation current={route.page} />
        <div class="tools">
          <Connection state={state} />
          <ThemeSwitch />
          <button
            type="button"
            class="quiet"
            onClick={() => setHelpShown(true)}
            aria-label="Keyboard shortcuts"
            title="Keyboard shortcuts (?)"
          >
            ?
          </button>
        </div>
      </header>
      <Banner state={state} />
      <main id="main" tabIndex={-1}>
        <h1 class="unseen">{TITLES[route.page]}</h1>
        {state.connection === 'locked' ? <KeyForm onKey={() => void start(app)} /> : <Page route={route} />}
      </main>
      <p class="unseen" role="status" aria-live="polite">
        {state.announcement}
      </p>
      {isHelpShown && <Shortcuts onClose={() => setHelpShown(false)} />}
    </>
  )
}

/** Fetches everything and follows the events. */
export async function start(app: ReturnType<typeof useAppHandle>): Promise<void> {
  app.change({ connection: 'connecting' })
  const lists = app.refresh('servers', 'tools')
  await app.refresh('about')
  await Promise.all([lists, app.state().connection === 'locked' ? undefined : followEvents(app)])
}

function Page({ route }: { readonly route: Route }) {
  if (route.page === 'search') return <PlaygroundPage route={route} />
  if (route.page === 'costs') return <CostsPage />
  if (route.page === 'servers') return <ServersPage route={route} />
  return <ConversationsPage route={route} />
}

function Navigation({ current }: { readonly current: PageName }) {
  return (
    <nav aria-label="Pages">
      {PAGE_NAMES.map((page) => (
        <a key={page} href={linkTo(page)} aria-current={page === current ? 'page' : undefined}>
          {TITLES[page]}
        </a>
      ))}
    </nav>
  )
}

const CONNECTIONS: { readonly [state in ConnectionState]: string } = {
  connecting: 'connecting…',
  reading: 'reading…',
  live: 'live',
  ended: 'recorded',
  lost: 'connection lost',
  hidden: 'no events',
  locked: 'key needed',
}

function Connection({ state }: { readonly state: AppState }) {
  const { connection, received, opened } = state
  const isFile = opened !== undefined && connection !== 'lost'
  return (
    <span class={`connection ${connection}`} role="status" title={`${formatCount(received)} events read`}>
      {isFile ? 'a file' : CONNECTIONS[connection]}
      {connection === 'reading' && received > 0 && ` ${formatCount(received)} events`}
    </span>
  )
}

function Banner({ state }: { readonly state: AppState }) {
  const app = useAppHandle()
  const { opened, connection } = state
  return (
    <>
      {connection === 'lost' && (
        <p class="banner warn" role="alert">
          The connection to Toolshelf is lost. What you see may be old; reconnecting automatically.
        </p>
      )}
      {opened && (
        <p class="banner">
          You are looking at the file <strong>{opened.name}</strong>
          {opened.remark !== '' && ` (${opened.remark})`}.{' '}
          <button type="button" class="quiet" onClick={() => app.change({ opened: undefined })}>
            Close it
          </button>
        </p>
      )}
    </>
  )
}

function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(storedTheme())
  const choose = (next: Theme) => {
    applyTheme(next)
    setTheme(next)
  }
  return (
    <label class="theme">
      <span class="unseen">Colours</span>
      <select value={theme} onChange={(event) => choose(event.currentTarget.value as Theme)}>
        {THEMES.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  )
}
