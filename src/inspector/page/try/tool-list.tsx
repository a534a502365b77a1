// Tools as a list of links to their forms.
import type { ToolView } from '../../api.ts'
import { linkTo } from '../app/route.ts'
import { shortCount } from '../ui/format.ts'
import { Foreign } from '../ui/text.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'

const ROW = 46

export function ToolList({
  tools,
  current = '',
}: {
  readonly tools: readonly ToolView[]
  readonly current?: string
}) {
  return (
    <VirtualList
      items={tools}
      rowHeight={ROW}
      label="Tools"
      keyOf={({ name }) => name}
      current={tools.findIndex(({ name }) => name === current)}
    >
      {({ name, original, server, tokens, isAlwaysLoaded }) => (
        <a
          class="row small"
          href={linkTo('try', [name])}
          aria-current={name === current ? 'true' : undefined}
        >
          <span class="first">
            <strong>
              <Foreign text={original || name} limit={80} />
            </strong>
            <span class="amount">{shortCount(tokens)}</span>
          </span>
          <span class="facts">
            {server !== null && <Foreign text={server} limit={50} />}
            {isAlwaysLoaded && <span>always loaded</span>}
          </span>
        </a>
      )}
    </VirtualList>
  )
}
