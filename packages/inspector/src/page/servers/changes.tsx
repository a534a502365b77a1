// Shows what changed in a server's texts since they were accepted, and lets the user accept it.
import { useState } from 'preact/hooks'
import { endpoints, type PinChange, type PinInput, type ServerView } from '../../api.ts'
import { messageOf, replaceServer, useApp, useAppHandle } from '../app/state.ts'
import { TextDiff } from '../ui/diff.tsx'
import { plural } from '../ui/format.ts'
import { Badge, ErrorNote, Section } from '../ui/parts.tsx'
import { Foreign } from '../ui/text.tsx'

const MAX_SHOWN = 50

export function ChangesSection({ server }: { readonly server: ServerView }) {
  const app = useAppHandle()
  const { about } = useApp()
  const [error, setError] = useState('')
  const { changes, name } = server
  if (changes.length === 0) return null
  const send = async (changed: readonly PinChange[]) => {
    setError('')
    const kinds = [...new Set(changed.map(({ kind }) => kind))]
    try {
      for (const kind of kinds) {
        const meant = changed.filter((one) => one.kind === kind)
        const names = meant.map((one) => one.name)
        const versions = meant.map(({ version }) => version)
        const input: PinInput = { server: name, kind, names, versions }
        replaceServer(app, await app.client.post<ServerView>(endpoints.pins, input))
      }
      app.announce('Accepted')
    } catch (reason) {
      setError(messageOf(reason))
      // Another page may have decided, or the server has changed once more: show what is there now.
      await app.refresh('servers')
    }
  }
  const canManage = about.value?.can.manageServers === true
  const shown = changes.slice(0, MAX_SHOWN)
  return (
    <Section
      title="Changed since accepted"
      aside={
        canManage && changes.length > 1 ? (
          <button type="button" onClick={() => void send(changes)}>
            Accept all {changes.length}
          </button>
        ) : undefined
      }
    >
      <p class="hint">
        The texts of this server differ from those that were first seen. Read them before you accept them: the
        model reads them.
      </p>
      <ErrorNote text={error} />
      <ul class="causes">
        {shown.map((change) => (
          <li key={`${change.kind}${change.name}`}>
            <p class="change-head">
              <span>
                {LABELS[change.kind]}{' '}
                {change.kind !== 'instructions' && (
                  <code>
                    <Foreign text={change.name} limit={100} />
                  </code>
                )}{' '}
                {change.before === null ? 'is new' : change.after === null ? 'is gone' : 'changed'}
              </span>
              <Badge tone={change.isHeld ? 'warn' : 'plain'}>{change.isHeld ? 'held back' : 'in use'}</Badge>
              {canManage && (
                <button
                  type="button"
                  aria-label={`Accept ${change.name}`}
                  onClick={() => void send([change])}
                >
                  Accept
                </button>
              )}
            </p>
            <TextDiff
              label={`What changed in ${change.name}`}
              before={change.before ?? ''}
              after={change.after ?? ''}
            />
          </li>
        ))}
      </ul>
      {changes.length > shown.length && (
        <p class="hint">{plural(changes.length - shown.length, 'more change')}.</p>
      )}
    </Section>
  )
}

const LABELS: { readonly [kind in PinChange['kind']]: string } = {
  tool: 'The tool',
  prompt: 'The prompt',
  instructions: 'The instructions',
}
