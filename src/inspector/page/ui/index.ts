// Exports of inspector/page/ui for other folders: components that know nothing of events and servers.
export { SHADES, StackedBar, WithAndWithout } from './bars.tsx'
export { Dialog } from './dialog.tsx'
export { TextDiff, UnifiedDiff } from './diff.tsx'
export {
  formatCount,
  formatDollars,
  formatMilliseconds,
  formatMoment,
  formatShare,
  formatShortMoment,
  formatSize,
  formatTime,
  plural,
  savedTokens,
  shortCount,
} from './format.ts'
export { Badge, CommandLine, DataTable, Empty, ErrorNote, Figure, Section, type Tone } from './parts.tsx'
export { ScrollRegion } from './scroll.tsx'
export { Switch } from './switch.tsx'
export { Foreign, ForeignBlock, JsonBlock } from './text.tsx'
export { VirtualList } from './virtual-list.tsx'
