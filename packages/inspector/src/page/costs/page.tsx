// Costs: which server and tool takes how much of the context, what was saved, and what is never used.
import { useMemo } from 'preact/hooks'
import type { ServerView, ToolView } from '../../api.ts'
import type { EventModel } from '../../model/event-model.ts'
import { toolUses, totalSpending } from '../../model/totals.ts'
import { linkTo } from '../app/route.ts'
import { shownModel, useApp } from '../app/state.ts'
import { formatCount, formatShare, plural, shortCount } from '../ui/format.ts'
import { Badge, DataTable, Empty, ErrorNote, Figure, Section } from '../ui/parts.tsx'
import { Foreign } from '../ui/text.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'
import { Savings } from './savings.tsx'
import { UnusedTools } from './unused.tsx'

export function CostsPage() {
  const state = useApp()
  const model = shownModel(state)
  const { tools, servers, about, received } = state
  const list = tools.value ?? []
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
      <ServerCosts servers={servers.value ?? []} window={window} />
      {list.length > 0 && <ToolCosts tools={list} />}
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
}: {
  readonly servers: readonly ServerView[]
  readonly window: number
}) {
  if (servers.length === 0) return null
  const sorted = [...servers].sort((a, b) => b.tokens - a.tokens)
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
              <a href={linkTo('servers', [name])}>
                <Foreign text={name} limit={60} />
              </a>
            </th>
            <td class="number">{formatCount(tools)}</td>
            <td class="number">{formatCount(tokens)}</td>
            <td class="number">{formatShare(tokens / window)}</td>
            <td class="number">{formatCount(alwaysLoadedTokens)}</td>
            <td>
              <TokenBar tokens={tokens} most={sorted[0]?.tokens ?? 0} />
            </td>
          </tr>
        ))}
      </DataTable>
    </Section>
  )
}

const ROW = 34

function ToolCosts({ tools }: { readonly tools: readonly ToolView[] }) {
  const sorted = [...tools].sort((a, b) => b.tokens - a.tokens)
  return (
    <Section level={2} title="Cost per tool" aside={<span class="hint">most expensive first</span>}>
      <div class="set">
        <VirtualList
          items={sorted}
          rowHeight={ROW}
          maxHeight={10 * ROW}
          label="Cost per tool"
          keyOf={({ name }) => name}
        >
          {({ name, tokens, isAlwaysLoaded }) => (
            <a class="tool-row" href={linkTo('search', [], { expected: name })}>
              <code>
                <Foreign text={name} limit={90} />
              </code>
              {isAlwaysLoaded && <Badge>always loaded</Badge>}
              <TokenBar tokens={tokens} most={sorted[0]?.tokens ?? 0} />
              <span class="amount">{formatCount(tokens)}</span>
            </a>
          )}
        </VirtualList>
      </div>
    </Section>
  )
}

function TokenBar({ tokens, most }: { readonly tokens: number; readonly most: number }) {
  return (
    <span class="bar" aria-hidden="true">
      <span class="own" style={{ width: `${(100 * tokens) / (most || 1)}%` }} />
    </span>
  )
}
