// Tools as a list of links to their forms.
import type { ToolView } from '../../api.ts'
import { linkTo } from '../app/index.ts'
import { Foreign, shortCount, VirtualList } from '../ui/index.ts'

const ROW = 46
const SMALL_ROW = 32

/** `isPart`: the tools are of one server, and the list is a part of its page. */
export function ToolList({
  tools,
  current = '',
  isPart = false,
}: {
  readonly tools: readonly ToolView[]
  readonly current?: string
  readonly isPart?: boolean
}) {
  return (
    <VirtualList
      items={tools}
      rowHeight={isPart ? SMALL_ROW : ROW}
      {...(isPart ? { maxHeight: 10 * SMALL_ROW } : {})}
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
          {!isPart && (
            <span class="facts">
              {server !== null && <Foreign text={server} limit={50} />}
              {isAlwaysLoaded && <span>always loaded</span>}
            </span>
          )}
        </a>
      )}
    </VirtualList>
  )
}
