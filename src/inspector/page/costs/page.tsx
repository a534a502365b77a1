// Costs: which server and tool takes how much of the context, what is never used, and what was saved over time.
import { useMemo, useState } from 'preact/hooks'
import type { ServerView, ToolView } from '../../api.ts'
import { type EventModel, toolUses, totalSpending } from '../../model/index.ts'
import { linkTo, shownModel, useApp } from '../app/index.ts'
import {
  DataTable,
  Empty,
  ErrorNote,
  Figure,
  Foreign,
  formatCount,
  formatShare,
  plural,
  Section,
  shortCount,
} from '../ui/index.ts'
import { Savings } from './savings.tsx'
import { Treemap } from './treemap.tsx'
import { UnusedTools } from './unused.tsx'

export function CostsPage() {
  const state = useApp()
  const model = shownModel(state)
  const { tools, servers, about, received } = state
  const list = tools.value ?? []
  const [server, setServer] = useState<string | undefined>()
  const window = about.value?.window ?? 200_000
  const uses = useMemo(() => toolUses(model), [model, model.version, received])
  if (tools.value && list.length === 0 && model.conversations().length === 0)
    return (
      <Empty title="There are no tools to count">
        <p>
          Add a server with <code>toolshelf add</code>, or see under <a href={linkTo('servers')}>Servers</a>{' '}
          why none is connected.
        </p>
      </Empty>
    )
  return (
    <div class="costs">
      <ErrorNote text={tools.error} />
      <Totals tools={list} window={window} model={model} />
      {list.length > 0 && (
        <Section
          level={2}
          title="Where the tokens are"
          aside={
            <span class="hint">
              {server === undefined ? 'each area is a tool; choose a server to look closer' : ''}
            </span>
          }
        >
          <Treemap tools={list} server={server} onServer={setServer} />
        </Section>
      )}
      <ServerCosts servers={servers.value ?? []} window={window} onServer={setServer} />
      <Savings model={model} />
      {list.length > 0 && <UnusedTools tools={list} uses={uses} />}
    </div>
  )
}

function Totals({ tools, window, model }: { tools: readonly ToolView[]; window: number; model: EventModel }) {
  const tokens = tools.reduce((sum, tool) => sum + tool.tokens, 0)
  const always = tools.reduce((sum, tool) => sum + (tool.isAlwaysLoaded ? tool.tokens : 0), 0)
  const spending = totalSpending(model)
  const saved = spending.tokensWithout - spending.tokensWith
  const isSeen = spending.tokensWithout > 0
  return (
    <dl class="figures wide">
      <Figure
        label="All definitions"
        value={`${shortCount(tokens)} tokens`}
        detail={`${formatShare(tokens / window)} of a window of ${shortCount(window)}, in every request without Toolshelf`}
      />
      <Figure
        label="Always loaded"
        value={`${shortCount(always)} tokens`}
        detail="in every request, by your choice"
      />
      <Figure
        label={saved < 0 ? 'Spent more so far' : 'Saved so far'}
        value={isSeen ? `${shortCount(Math.abs(saved))} tokens` : '–'}
        detail={
          spending.turns === 0
            ? 'nothing recorded yet'
            : !isSeen
              ? 'unknown: an MCP client sends its requests to the model itself'
              : `in ${plural(spending.turns, 'turn')}, with ${plural(spending.extraRoundTrips, 'extra round trip')}`
        }
      />
    </dl>
  )
}

function ServerCosts({
  servers,
  window,
  onServer,
}: {
  readonly servers: readonly ServerView[]
  readonly window: number
  readonly onServer: (server: string) => void
}) {
  if (servers.length === 0) return null
  const sorted = [...servers].sort((a, b) => b.tokens - a.tokens)
  const max = Math.max(...sorted.map(({ tokens }) => tokens), 1)
  const head = [
    { text: 'Server' },
    { text: 'Tools', isNumber: true },
    { text: 'Tokens', isNumber: true },
    { text: 'Of the window', isNumber: true },
    { text: 'Always loaded', isNumber: true },
    { text: 'Compared' },
  ]
  return (
    <Section level={2} title="Cost per server" aside={<span class="hint">most expensive first</span>}>
      <DataTable label="Cost per server" head={head}>
        {sorted.map(({ name, tools, tokens, alwaysLoadedTokens }) => (
          <tr key={name}>
            <th scope="row">
              <button type="button" class="link" onClick={() => onServer(name)}>
                <Foreign text={name} limit={60} />
              </button>
            </th>
            <td class="number">{formatCount(tools)}</td>
            <td class="number">{formatCount(tokens)}</td>
            <td class="number">{formatShare(tokens / window)}</td>
            <td class="number">{formatCount(alwaysLoadedTokens)}</td>
            <td>
              <span class="bar" aria-hidden="true">
                <span class="own" style={{ width: `${(100 * tokens) / max}%` }} />
              </span>
            </td>
          </tr>
        ))}
      </DataTable>
    </Section>
  )
}
