// The five wires by name.

import type { Speaker } from '../gate/index.ts'
import type { WireName } from '../types.ts'
import { addition } from './addition.ts'
import { append } from './append.ts'
import { bridge } from './bridge.ts'
import { hosted } from './hosted.ts'
import { reference } from './reference.ts'
import type { MakeWire, Wire } from './wire.ts'

const wires: Record<WireName, MakeWire> = { reference, addition, append, bridge, hosted }

/** Creates the wire with this name. */
export function makeWire(name: WireName, { settings, capability }: Speaker): Wire {
  return wires[name](settings, settings.hostedSearch ?? capability.provider?.hosted?.[0] ?? 'regex')
}
export { PLACEHOLDER, searchTool } from './own-tools.ts'
export { loadedEarlier, selectIt, type Wire } from './wire.ts'
