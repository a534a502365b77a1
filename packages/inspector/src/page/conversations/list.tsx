// The list of conversations, with a filter.
import { useState } from 'preact/hooks'
import type { ConversationSummary } from '../../model/event-model.ts'
import { linkTo } from '../app/route.ts'
import { useApp } from '../app/state.ts'
import { formatShortMoment, plural, shortCount } from '../ui/format.ts'
import { Foreign } from '../ui/text.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'
import { OpenFile } from './open-file.tsx'

const ROW = 74

export function ConversationList({
  conversations,
  current,
}: {
  readonly conversations: readonly ConversationSummary[]
  readonly current: string
}) {
  const [filter, setFilter] = useState('')
  const { left } = useApp()
  const shown = conversations.filter((one) => matches(one, filter.trim().toLowerCase()))
  return (
    <>
      <header class="pane-head">
        <h2>{plural(conversations.length, 'conversation')}</h2>
        <OpenFile />
      </header>
      <input
        type="search"
        aria-label="Filter conversations by client, user, model or search"
        placeholder="Client, user, model or search"
        value={filter}
        onInput={(event) => setFilter(event.currentTarget.value)}
      />
      <VirtualList
        items={shown}
        rowHeight={ROW}
        label="Conversations"
        keyOf={({ id }) => id}
        current={shown.findIndex(({ id }) => id === current)}
      >
        {(one) => <Row conversation={one} isCurrent={one.id === current} />}
      </VirtualList>
      {shown.length === 0 && <p class="hint">No conversation matches "{filter}".</p>}
      {left.skipped > 0 && <p class="hint">{plural(left.skipped, 'older event')} left out.</p>}
      {left.broken > 0 && <p class="hint">{plural(left.broken, 'line')} could not be read.</p>}
    </>
  )
}

function matches({ client, user, kind, models, topic, id }: ConversationSummary, filter: string): boolean {
  const texts = [client, user, kind, topic, id, ...models]
  return filter === '' || texts.some((text) => text.toLowerCase().includes(filter))
}

function Row({ conversation, isCurrent }: { conversation: ConversationSummary; isCurrent: boolean }) {
  const { id, client, user, kind, topic, endTime, turns, breaks, troubles, spending } = conversation
  const saved = spending.tokensWithout - spending.tokensWith
  return (
    <a class="row" href={linkTo('conversations', [id])} aria-current={isCurrent ? 'true' : undefined}>
      <span class="first">
        <strong>
          <Foreign text={client || NAMES[kind] || kind || 'A conversation'} limit={60} />
          {user !== '' && (
            <span class="hint">
              {' '}
              <Foreign text={user} limit={60} />
            </span>
          )}
        </strong>
        <time dateTime={endTime}>{formatShortMoment(endTime)}</time>
      </span>
      <span class="topic">{topic === '' ? <em>no searches</em> : <Foreign text={topic} limit={90} />}</span>
      <span class="facts">
        <span>{plural(turns, 'turn')}</span>
        {breaks > 0 && <span class="warn">cache broken {breaks}×</span>}
        {troubles > 0 && <span class="bad">{troubles} failed</span>}
        {saved !== 0 && (
          <span>{saved > 0 ? `${shortCount(saved)} tokens saved` : `${shortCount(-saved)} tokens more`}</span>
        )}
      </span>
    </a>
  )
}

const NAMES: { readonly [kind: string]: string } = {
  mcp: 'MCP client',
  serve: 'API client',
  chat: 'Chat',
  run: 'Run',
  library: 'Library',
}
