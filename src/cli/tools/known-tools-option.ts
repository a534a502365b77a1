// The option `--known` of commands whose searches may name tools that are not installed.
import type { Option } from '../command.ts'

/** The option. */
export const knownToolsOption: Option = {
  type: 'string',
  value: 'file',
  isMultiple: true,
  about: 'tools you know of but have not installed, which searches name: catalogues or MCP registry exports',
}
