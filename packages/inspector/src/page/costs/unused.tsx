// Tools that no recorded conversation called.
import { useState } from 'preact/hooks'
import type { ToolView } from '../../api.ts'
import type { ToolUses, toolUses } from '../../model/totals.ts'
import { linkTo } from '../app/route.ts'
import { shownModel, useApp } from '../app/state.ts'
import { formatCount, formatMoment, plural, shortCount } from '../ui/format.ts'
import { Section } from '../ui/parts.tsx'
import { Switch } from '../ui/switch.tsx'
import { Foreign } from '../ui/text.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'

const ROW = 34

export function UnusedTools({
  tools,
  uses,
}: {
  readonly tools: readonly ToolView[]
  readonly uses: ReturnType<typeof toolUses>
}) {
  const state = useApp()
  const [shownKind, setShownKind] = useState<'unused' | 'used'>('unused')
  const isUsed = shownKind === 'used'
  const conversations = shownModel(state).conversations().length
  const callsOf = (tool: ToolView) => uses.get(tool.name)?.calls ?? 0
  const unused = tools.filter((tool) => callsOf(tool) === 0).sort((a, b) => b.tokens - a.tokens)
  const used = tools.filter((tool) => callsOf(tool) > 0).sort((a, b) => callsOf(b) - callsOf(a))
  const shown = isUsed ? used : unused
  const tokens = unused.reduce((sum, tool) => sum + tool.tokens, 0)
  return (
    <Section
      level={2}
      title="Tools never used"
      aside={
        <Switch
          label="Which tools"
          value={shownKind}
          choices={[
            { value: 'unused', text: `Never called ${formatCount(unused.length)}` },
            { value: 'used', text: `Called ${formatCount(used.length)}` },
          ]}
          onChoose={setShownKind}
        />
      }
    >
      <p class="lead">
        {conversations === 0
          ? 'Nothing is recorded yet, so every tool counts as unused.'
          : `${plural(unused.length, 'tool')} (${shortCount(tokens)} tokens) never called in ${plural(conversations, 'recorded conversation')}`}
      </p>
      {unused.length > 0 && conversations > 0 && (
        <p class="hint">
          On the shelf they cost next to nothing. Hide those you will never need with <code>"deny"</code> at
          their server.
        </p>
      )}
      <div class="set">
        <VirtualList
          items={shown}
          rowHeight={ROW}
          maxHeight={10 * ROW}
          label={isUsed ? 'Tools called' : 'Tools never called'}
          keyOf={({ name }) => name}
        >
          {(tool) => <UseRow tool={tool} uses={uses.get(tool.name)} />}
        </VirtualList>
      </div>
    </Section>
  )
}

function UseRow({ tool, uses }: { readonly tool: ToolView; readonly uses: ToolUses | undefined }) {
  return (
    <a class="tool-row" href={linkTo('search', [], { expected: tool.name })}>
      <code>
        <Foreign text={tool.name} limit={90} />
      </code>
      <span class="facts">
        {uses && uses.calls > 0 && (
          <span>
            {plural(uses.calls, 'call')}, last {formatMoment(uses.lastTime)}
          </span>
        )}
        {uses && uses.calls === 0 && uses.found > 0 && <span>found {uses.found}×, never called</span>}
        <span class="amount">{formatCount(tool.tokens)}</span>
      </span>
    </a>
  )
}
