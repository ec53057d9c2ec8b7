import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { readRouting } from '#data-plane/wires/hints.ts'
import { NO_TOKENS, readSeconds, refuseSeveral, withoutLength } from '#data-plane/wires/jobs/members.ts'
import { headOf, showJob } from '#data-plane/wires/jobs/view.ts'
import { readJsonBody, readModelName } from '#data-plane/wires/json-body.ts'
import type { Named } from '#data-plane/wires/media-members.ts'
import { extrasOf, memberOf, readPrompt, refuseMembers } from '#data-plane/wires/media-members.ts'
import type { JobWire } from '#data-plane/wires/wire.ts'
import { forModelTarget } from '#data-plane/wires/wire.ts'
import { clipOf } from '#shared/catalog/model.ts'
import { shapeOf } from '#shared/clips.ts'
import { mustBe } from '#shared/invalid-member.ts'
import { isGiven } from '#shared/json-members.ts'
import { MEDIA_MEMBERS, namesRead } from '#shared/media-members.ts'
import { MUSIC_MEMBERS } from '#shared/members/of-media.ts'
import { readMembers } from '#shared/members/read-members.ts'
import { jobCodecOf } from '#shared/protocols/index.ts'

const OBJECT = 'music.generation'
const MAX_LYRICS_CHARS = 32_768
const MEMBERS = MEDIA_MEMBERS.music
/** Members that are parsed here. All others go to providers that support them. */
const READ: ReadonlySet<string> = new Set(['model', 'prompt', ...namesRead(MEMBERS)])

/** Music as long jobs: `POST /v1/music/generations`, then `GET` and `DELETE` of the id in the answer. */
export const music: JobWire = {
  name: 'music',
  envelope: openAiEnvelope,
  read(raw) {
    const { body } = readJsonBody(raw)
    const model = readModelName(body['model'])
    const prompt = readPrompt(body['prompt'])
    refuseMembers(body, MEMBERS)
    const lyrics = readLyrics(memberOf(body, MEMBERS.read.lyrics))
    refuseSeveral(body, MEMBERS.read.n)
    const seconds = readSeconds(body, MEMBERS.read)
    const extras = extrasOf(body, READ)
    const { costly } = readMembers(MUSIC_MEMBERS, body)
    return {
      demand: {
        kind: 'model',
        endpoint: 'music',
        model,
        isStreamed: false,
        ...readRouting(body, raw),
        inputParam: 'prompt',
        needs: { imageInput: false, costly },
        bounds: { ...NO_TOKENS, clip: { seconds, resolution: undefined } },
      },
      asked: { seconds: seconds ?? null, size: null },
      encode(offer, target) {
        const { model: musicModel } = forModelTarget(target)
        const shape = shapeOf(clipOf(musicModel), { seconds, resolution: undefined })
        const ask = { prompt, lyrics, seconds: shape.seconds, extras }
        const request = jobCodecOf(offer, 'music').submit(ask, { offer, target: forModelTarget(target) })
        return withoutLength(request, seconds, shape.seconds)
      },
    }
  },
  submitted: (view, token) => JSON.stringify({ ...headOf(view, OBJECT), job_token: token }),
  shown: (view) => JSON.stringify(showJob(view, OBJECT)),
  cancelled: (view) => JSON.stringify(showJob(view, OBJECT)),
}

function readLyrics({ name, value }: Named): string | undefined {
  if (!isGiven(value)) return undefined
  if (typeof value === 'string' && value.length <= MAX_LYRICS_CHARS) return value
  throw mustBe(name, `a text of at most ${MAX_LYRICS_CHARS} characters`)
}
