// Exports of replay for other folders.
export { readRecording, TranscriptError } from './read-transcript.ts'
export { type ReplayOptions, replay } from './replay.ts'
export { replayView } from './terminal.ts'
export type { RecordedTurn, Recording, ReplayedTurn, ReplayReport } from './types.ts'
