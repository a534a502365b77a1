// Implements the wire `hosted`: the provider's own search gets every deferred tool, answers the model and loads by
// reference.
// Implements Q5, Q7.
import { hostedTool, placeholder } from './own-tools.ts'
import { reference } from './reference.ts'
import { type MakeWire, withDeferLoading } from './wire.ts'

/** Creates the wire `hosted`. */
export const hosted: MakeWire = (settings, variant) => ({
  ...reference(settings, variant),
  name: 'hosted',
  searchName: `tool_search_tool_${variant}`,
  declare: ({ immediate, loaded, unloaded }) => [
    hostedTool(variant),
    ...immediate,
    withDeferLoading(placeholder),
    ...loaded.map(withDeferLoading),
    ...unloaded().map(withDeferLoading),
  ],
  howToLoad: (name) => `Search for "${name}" with tool_search_tool_${variant}`,
})
