// Our host against the servers of the conformance suite, protocol 2025-11-25.
import { describeHost } from './suite.ts'

describeHost('2025-11-25')
