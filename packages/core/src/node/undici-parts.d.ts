// The part of undici that is used: its entry would bundle all of it.
declare module 'undici/lib/dispatcher/agent.js' {
  export { Agent as default } from 'undici'
}
