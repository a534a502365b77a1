// The little of the identity provider that tests use; the package has no types of its own.
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  type Grant = {
    addOIDCScope(scope: string): void
    addResourceScope(resource: string, scope: string): void
    save(): Promise<string>
  }
  type Parameters = { readonly [name: string]: string | undefined }

  export default class Provider {
    constructor(issuer: string, configuration: object)
    readonly Grant: new (owner: {
      accountId: string
      clientId: string
    }) => Grant
    callback(): (request: IncomingMessage, response: ServerResponse) => void
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<{
      readonly prompt: { readonly name: string }
      readonly params: Parameters
      readonly session?: { readonly accountId: string }
    }>
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  }
}
