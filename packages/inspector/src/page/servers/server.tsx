// One server: state and actions, problems, changes since its texts were accepted, log, tools.
import { useState } from 'preact/hooks'
import { endpoints, type ServerAction, type ServerActionInput, type ServerView } from '../../api.ts'
import { linkTo } from '../app/route.ts'
import { messageOf, replaceServer, useApp, useAppHandle } from '../app/state.ts'
import { formatCount, formatMilliseconds } from '../ui/format.ts'
import { Badge, ErrorNote, Figure, Section } from '../ui/parts.tsx'
import { Foreign, ForeignBlock } from '../ui/text.tsx'
import { ChangesSection } from './changes.tsx'
import { STATE_TONES } from './states.ts'
import { ToolList } from './tool-list.tsx'

const ACTIONS: { readonly [action in ServerAction]: string } = {
  start: 'Start',
  stop: 'Stop',
  reconnect: 'Reconnect',
  refresh: 'List tools again',
  login: 'Log in…',
}

export function ServerDetail({ server }: { readonly server: ServerView }) {
  const {
    name,
    state,
    reason,
    transport,
    source,
    software,
    startMilliseconds,
    tools,
    tokens,
    alwaysLoadedTokens,
  } = server
  return (
    <article class="server" aria-label={name}>
      <header class="turn-head">
        <a class="back" href={linkTo('servers')}>
          Servers
        </a>
        <h2>
          <Foreign text={name} limit={80} />
        </h2>
        <p class="facts">
          <Badge tone={STATE_TONES[state]}>{state}</Badge>
          {software !== null && <Foreign text={software} limit={80} />}
          <Foreign text={transport} limit={120} />
          <span>
            from{' '}
            <code>
              <Foreign text={source} limit={120} />
            </code>
          </span>
        </p>
        {reason !== null && (
          <p class={state === 'failed' ? 'error' : 'hint'}>
            <Foreign text={reason} limit={1000} />
          </p>
        )}
        <Actions server={server} />
      </header>
      <dl class="figures">
        <Figure label="Tools" value={formatCount(tools)} />
        <Figure
          label="Tokens"
          value={formatCount(tokens)}
          detail={`${formatCount(alwaysLoadedTokens)} always loaded`}
        />
        <Figure
          label="Started in"
          value={startMilliseconds === null ? '–' : formatMilliseconds(startMilliseconds)}
        />
      </dl>
      <ChangesSection server={server} />
      <ProblemsSection problems={server.problems} />
      <ToolsSection name={name} count={tools} />
      <Section title="Log">
        {server.log === '' ? (
          <p class="hint">It has written nothing to stderr.</p>
        ) : (
          <ForeignBlock label={`Last lines of ${name}`} text={server.log} />
        )}
      </Section>
    </article>
  )
}

function Actions({ server }: { readonly server: ServerView }) {
  const app = useAppHandle()
  const [running, setRunning] = useState<ServerAction | undefined>()
  const [error, setError] = useState('')
  const act = async (action: ServerAction) => {
    setRunning(action)
    setError('')
    try {
      const input: ServerActionInput = { server: server.name, action }
      const next = await app.client.post<ServerView>(endpoints.serverAction, input)
      replaceServer(app, next)
      app.announce(`${server.name} is ${next.state}`)
      void app.refresh('servers', 'tools')
    } catch (reason) {
      setError(messageOf(reason))
    } finally {
      setRunning(undefined)
    }
  }
  if (server.actions.length === 0) return null
  return (
    <>
      <div class="buttons">
        {server.actions.map((action) => (
          <button
            key={action}
            type="button"
            disabled={running !== undefined}
            onClick={() => void act(action)}
          >
            {running === action ? 'Working…' : ACTIONS[action]}
          </button>
        ))}
      </div>
      <ErrorNote text={error} />
    </>
  )
}

function ProblemsSection({ problems }: Pick<ServerView, 'problems'>) {
  if (problems.length === 0) return null
  return (
    <Section title="Problems">
      <ul class="findings">
        {problems.map(({ tool, message }, at) => (
          <li key={`${tool}${at}`}>
            <Badge tone="warn">problem</Badge>
            <span>
              {tool !== '' && (
                <code>
                  <Foreign text={tool} limit={100} />:{' '}
                </code>
              )}
              <Foreign text={message} limit={600} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function ToolsSection({ name, count }: { readonly name: string; readonly count: number }) {
  const { tools } = useApp()
  const own = (tools.value ?? []).filter(({ server }) => server === name)
  if (own.length === 0) return null
  return (
    <Section title="Tools" aside={<span class="amount">{formatCount(count)}</span>}>
      <div class="set">
        <ToolList tools={own} />
      </div>
    </Section>
  )
}
