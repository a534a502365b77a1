// Our host against the servers of the conformance suite, protocol 2026-07-28.
import { describeHost } from './suite.ts'

describeHost('2026-07-28')
