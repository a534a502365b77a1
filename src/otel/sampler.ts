// Chooses which traces are exported, by `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`.
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace'

/**
 * Returns the sampler that the environment selects; for unknown names the standard's default, `parentbased_always_on`.
 */
export function samplerIn(environment: { readonly [name: string]: string | undefined }): Sampler {
  const name = environment.OTEL_TRACES_SAMPLER ?? ''
  const [, isByParent, kind] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(name) ?? []
  const share = Number(environment.OTEL_TRACES_SAMPLER_ARG ?? 1)
  const root = rootSampler(kind, share >= 0 && share <= 1 ? share : 1)
  return kind !== undefined && isByParent === undefined ? root : new ParentBasedSampler({ root })
}

function rootSampler(kind: string | undefined, share: number): Sampler {
  if (kind === 'always_off') return new AlwaysOffSampler()
  return kind === 'traceidratio' ? new TraceIdRatioBasedSampler(share) : new AlwaysOnSampler()
}
