// Runs first inside the sandbox: provides `tools` and `console` to the script, and turns its values into text. It keeps
// its own references to everything it uses, so that a script that replaces globals affects only itself.

/**
 * Is evaluated inside QuickJS from its source text, so it must not refer to anything outside itself.
 * @param {(path: string, input: string) => Promise<string>} call
 * @param {(text: string) => void} print
 * @param {{ inputCharacters: number, outputCharacters: number, logCharacters: number }} limits
 */
export function guest(call, print, limits) {
  const { parse, stringify } = JSON
  const [StringOf, ErrorOf, ProxyOf] = [String, Error, Proxy]
  const { apply, defineProperty } = Reflect
  const { slice } = StringOf.prototype
  const { exec } = RegExp.prototype
  const cut = (text, most) => (text.length > most ? apply(slice, text, [0, most]) : text)
  /** Properties that the engine reads of any value, which are not names of tools. */
  const isImplicit = (name) =>
    name === 'then' || name === 'toJSON' || name === 'toString' || name === 'valueOf'

  async function invoke(path, input) {
    const json = input === undefined ? '{}' : stringify(input)
    if (json === undefined || json[0] !== '{')
      throw new ErrorOf('a tool takes one object, such as {"path": "a.txt"}')
    if (json.length > limits.inputCharacters)
      throw new ErrorOf(
        `the input of this call has ${json.length} characters; ${limits.inputCharacters} are allowed`,
      )
    return parse(await call(stringify(path), json))
  }

  function stub(path) {
    return new ProxyOf(() => {}, {
      get: (_, name) =>
        typeof name !== 'string' || isImplicit(name) || path.length === 2
          ? undefined
          : stub(path.length === 0 ? [name] : [path[0], name]),
      apply(_target, _self, values) {
        if (path.length === 0)
          throw new ErrorOf('call tools as tools.<server>.<tool>({…}) or tools["<full name>"]({…})')
        return invoke(path, values[0])
      },
      set: () => false,
      defineProperty: () => false,
      deleteProperty: () => false,
      setPrototypeOf: () => false,
    })
  }

  function written(value) {
    if (typeof value === 'string') return value
    try {
      return value instanceof ErrorOf ? described(value) : (stringify(value) ?? StringOf(value))
    } catch {
      return '(a value that cannot be written)'
    }
  }

  function log(...values) {
    let line = ''
    for (let index = 0; index < values.length && line.length < limits.logCharacters; index++)
      line += `${index === 0 ? '' : ' '}${cut(written(values[index]), limits.logCharacters)}`
    print(line)
  }

  /** Returns an error as text, with its line; handles any thrown value, even one whose properties throw. */
  function described(error) {
    try {
      if (typeof error !== 'object' || error === null) return cut(StringOf(error), 2000)
      const { name, message, stack } = error
      const line = typeof stack === 'string' ? apply(exec, /script\.js:(\d+)/, [stack]) : null
      const text = `${cut(StringOf(name ?? 'Error'), 100)}: ${cut(StringOf(message ?? ''), 2000)}`
      return line ? `${text} (line ${line[1]})` : text
    } catch {
      return 'the script threw a value that cannot be read'
    }
  }

  /** Returns `value` with the text, `long` with its length if it is too long, or `nothing`. */
  function rendered(value) {
    const text = typeof value === 'string' ? value : stringify(value)
    if (text === undefined) return 'nothing'
    return text.length > limits.outputCharacters ? `long ${text.length}` : `value ${text}`
  }

  const hidden = { __proto__: null, enumerable: false, writable: false, configurable: false }
  defineProperty(globalThis, 'tools', { __proto__: hidden, value: stub([]) })
  const console = { log, info: log, warn: log, error: log, debug: log }
  defineProperty(globalThis, 'console', { __proto__: hidden, value: console })
  return { rendered, described }
}
