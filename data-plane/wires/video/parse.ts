import { putInlinedBack } from '#data-plane/wires/inlined-data.ts'
import { NO_TOKENS, withoutLength } from '#data-plane/wires/jobs/members.ts'
import type { ParsedJob } from '#data-plane/wires/wire.ts'
import { forModelTarget } from '#data-plane/wires/wire.ts'
import { clipOf } from '#shared/catalog/model.ts'
import { shapeOf } from '#shared/clips.ts'
import { formatSize } from '#shared/images.ts'
import { jobCodecOf } from '#shared/protocols/index.ts'
import type { VideoRequest } from './read-request.ts'

/** A video as a job, for any of its paths. */
export function videoJob(request: VideoRequest): ParsedJob {
  const { model, ask, sources, inlined, askedMembers, hints, floorPercents, maxCostMicro } = request
  const { seconds, resolution, size } = ask
  const sides = size === undefined ? null : formatSize(size)
  return {
    demand: {
      kind: 'model',
      endpoint: 'video',
      model,
      isStreamed: false,
      hints,
      floorPercents,
      maxCostMicro,
      inputParam: 'prompt',
      needs: {
        imageInput: false,
        costly: askedMembers.costly,
        sourceRoles: sources.map(({ role, param }) => ({ role, param })),
      },
      bounds: { ...NO_TOKENS, clip: { seconds, resolution, ...(sides !== null && { size: sides }) } },
    },
    asked: { seconds: seconds ?? null, size: sides },
    encode(offer, target) {
      const shape = shapeOf(clipOf(forModelTarget(target).model), { seconds, resolution })
      const codec = jobCodecOf(offer, 'video')
      const whole = { ...ask, seconds: shape.seconds, sources }
      const request = codec.submit(whole, { offer, target: forModelTarget(target) })
      return putInlinedBack(withoutLength(request, seconds, shape.seconds), inlined)
    },
  }
}
