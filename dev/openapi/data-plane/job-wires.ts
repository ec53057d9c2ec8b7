import { z } from 'zod'
import { CLIP_RESOLUTIONS, MAX_CLIP_SECONDS, SOURCE_ROLES } from '#shared/clips.ts'
import { MEDIA_MEMBERS } from '#shared/media-members.ts'
import { otherNamesOf, refusedOf } from './media-names.ts'
import type { DataRoute } from './route.ts'
import { CALL_REFUSALS, Cost, Count, KEY_REFUSALS, ROUTING } from './route.ts'

const Model = z.string().min(1)
const { video, music } = MEDIA_MEMBERS
const Prompt = z.string().min(1).max(32_768)
const Seconds = Count.min(1)
  .max(MAX_CLIP_SECONDS)
  .nullish()
  .describe(`The entry of a model lists the lengths that it makes. ${otherNamesOf(video.read.seconds)}`)
const Source = z.union([z.string(), z.object({ url: z.string(), role: z.enum(SOURCE_ROLES).optional() })])

const VideoRequest = z
  .looseObject({
    model: Model,
    prompt: Prompt,
    seconds: Seconds,
    size: z
      .string()
      .nullish()
      .describe(`WIDTHxHEIGHT. ${otherNamesOf(video.read.size)}`),
    resolution: z.enum(CLIP_RESOLUTIONS).nullish().describe(otherNamesOf(video.read.resolution)),
    aspect_ratio: z
      .string()
      .nullish()
      .describe(`Two numbers with a colon between, such as 16:9. ${otherNamesOf(video.read.aspect_ratio)}`),
    image_url: Source.nullish().describe(
      `The first frame: an https URL, which is never fetched here, or a data: URI. ${otherNamesOf(video.read.start)}`,
    ),
    end_image_url: Source.nullish().describe(`The last frame. ${otherNamesOf(video.read.end)}`),
    input_images: z
      .array(Source)
      .max(8)
      .nullish()
      .describe('The first one begins the film, the others are references.'),
    frame_images: z.array(z.unknown()).max(8).nullish().describe('OpenRouter’s first and last frame.'),
    input_references: z.array(z.unknown()).max(8).nullish().describe('Reference images, in OpenRouter’s shape.'),
    ...ROUTING,
  })
  .describe(refusedOf(video))
  .meta({ id: 'VideoRequest', description: 'A prompt for a film. The answer is a long job.' })
const Lyrics = z.string().max(32_768).nullish().describe(otherNamesOf(music.read.lyrics))
const MusicRequest = z
  .looseObject({ model: Model, prompt: Prompt, lyrics: Lyrics, seconds: Seconds, ...ROUTING })
  .describe(refusedOf(music))
  .meta({ id: 'MusicRequest', description: 'A prompt for music. The answer is a long job.' })
const OpenAiVideoRequest = z
  .looseObject({
    model: Model,
    prompt: Prompt,
    seconds: z
      .string()
      .regex(/^\d{1,3}s?$/)
      .nullish(),
    size: z.string().nullish(),
    input_reference: z.unknown().optional().describe('A file in a form, or an object with image_url in JSON.'),
    ...ROUTING,
  })
  .meta({ id: 'OpenAiVideoRequest', description: 'A prompt for a film in the shape of OpenAI’s videos.' })

const AdaptedParams = z
  .array(z.string())
  .optional()
  .describe('Members that were left out of the request to the provider.')
const JobUsage = Cost.extend({ seconds: z.number() })

/** The products of the jobs. */
const THINGS = { Video: 'A film', Music: 'A piece of music' } as const

/** A job in the answer to its submit, and in later answers. `object` is its kind. */
function jobOf(object: string, name: 'Video' | 'Music') {
  const head = z.object({
    id: z.string(),
    object: z.literal(object),
    status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled']),
    model: z.string(),
    created: Count,
    adapted_params: AdaptedParams,
  })
  return {
    submitted: head.extend({ job_token: z.string().describe('Reads the job without an API key.') }).meta({
      id: `${name}JobSubmitted`,
      description: `${THINGS[name]} that was taken on as a long job, with the token that reads it without a key.`,
    }),
    shown: head
      .extend({
        progress: z.number().optional(),
        completed: Count.nullable(),
        expires: Count.describe('Unix seconds after which the job can no longer be polled.'),
        artifacts: z.array(z.object({ index: Count, url: z.string(), content_type: z.string() })),
        usage: JobUsage.nullable(),
        error: z.object({ type: z.string(), code: z.string(), message: z.string() }).nullable(),
      })
      .meta({ id: `${name}Job`, description: `${THINGS[name]} as a long job: its state, its files and its cost.` }),
  }
}

const OpenAiVideo = z
  .object({
    id: z.string(),
    object: z.literal('video'),
    model: z.string(),
    status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
    progress: z.number(),
    created_at: Count,
    completed_at: Count.nullable(),
    expires_at: Count.nullable(),
    seconds: z.string().nullable(),
    size: z.string().nullable(),
    prompt: z.null().describe('Prompts are not kept.'),
    remixed_from_video_id: z.null(),
    polling_url: z.string(),
    unsigned_urls: z.array(z.string()).optional().describe('URLs of the files, once the film is finished.'),
    error: z.object({ code: z.string(), message: z.string() }).optional().describe('Why a film failed.'),
    usage: JobUsage.optional(),
    adapted_params: AdaptedParams,
  })
  .meta({ id: 'OpenAiVideo', description: 'A film as a long job in the shape of OpenAI’s videos.' })

const jobs = {
  takesFloor: true,
  floorExample: 0,
  envelope: 'v1',
  access: 'buyer',
  refusals: [...KEY_REFUSALS, 409, 502, 504],
} as const
const WHILE_RESTORED = '503 while records of jobs are being restored: retry after the seconds in Retry-After.'
const SUBMIT_REFUSALS = [...CALL_REFUSALS, 409]

type Kind = {
  readonly path: string
  readonly tag: string
  /** `a video`, in sentences. */
  readonly word: string
  readonly body: z.ZodType
  readonly submitted: z.ZodType
  readonly shown: z.ZodType
  readonly cancelled?: z.ZodType
  readonly example: Readonly<Record<string, unknown>>
}

function routesOf(kind: Kind): readonly DataRoute[] {
  const { path, tag, word, body, submitted, shown, cancelled = shown, example } = kind
  const json = (schema: z.ZodType) => ({ 'application/json': schema })
  return [
    {
      ...jobs,
      method: 'post',
      path,
      tag,
      body,
      status: 202,
      refusals: SUBMIT_REFUSALS,
      takesExact: true,
      summary: `Create ${word}`,
      description: 'A long job. The market reserves its quote, and charges the final cost when the job ends.',
      answers: json(submitted),
      examples: { whole: example },
    },
    {
      ...jobs,
      method: 'get',
      path: `${path}/{id}`,
      tag,
      summary: `Get ${word}`,
      description: `404 means that there is no such job. ${WHILE_RESTORED}`,
      answers: json(shown),
      examples: { whole: {} },
    },
    {
      ...jobs,
      method: 'delete',
      path: `${path}/{id}`,
      tag,
      summary: `Cancel ${word}`,
      description: WHILE_RESTORED,
      answers: json(cancelled),
      examples: { whole: {} },
    },
  ]
}

/** The wires of long jobs. */
export const JOB_ROUTES: readonly DataRoute[] = [
  ...routesOf({
    path: '/v1/video/generations',
    tag: 'Video',
    word: 'a video',
    body: VideoRequest,
    ...jobOf('video.generation', 'Video'),
    example: { model: 'sandbox/job', prompt: 'A boat on a lake.', seconds: 2 },
  }),
  ...routesOf({
    path: '/v1/music/generations',
    tag: 'Music',
    word: 'a piece of music',
    body: MusicRequest,
    ...jobOf('music.generation', 'Music'),
    example: { model: 'sandbox/music-job', prompt: 'A calm piano.', seconds: 2 },
  }),
  ...routesOf({
    path: '/v1/videos',
    tag: 'Video',
    word: 'a video in the shapes of OpenAI',
    body: OpenAiVideoRequest,
    submitted: OpenAiVideo.extend({ job_token: z.string() }).meta({
      id: 'OpenAiVideoSubmitted',
      description: 'A film that was accepted, with a token that reads its state without a key.',
    }),
    shown: OpenAiVideo,
    cancelled: z
      .object({ id: z.string(), object: z.literal('video.deleted'), deleted: z.boolean() })
      .meta({ id: 'OpenAiVideoDeleted', description: 'The id of a film, and whether the film is deleted.' }),
    example: { model: 'sandbox/job', prompt: 'A boat on a lake.', seconds: '2' },
  }),
  {
    ...jobs,
    method: 'get',
    path: '/v1/videos',
    tag: 'Video',
    refusals: KEY_REFUSALS,
    summary: 'List videos',
    description: `The films of the account from its last two days. No provider is asked. ${WHILE_RESTORED}`,
    query: z.object({
      after: z.string().optional().describe('The last id of the page before.'),
      limit: Count.min(1).max(100).optional(),
      order: z.enum(['asc', 'desc']).optional(),
    }),
    answers: {
      'application/json': z
        .object({
          object: z.literal('list'),
          data: z.array(OpenAiVideo),
          first_id: z.string().nullable(),
          last_id: z.string().nullable(),
          has_more: z.boolean(),
        })
        .meta({ id: 'OpenAiVideoList', description: 'A page of the films of the account.' }),
    },
    examples: { whole: { limit: 2 } },
  },
  {
    ...jobs,
    method: 'get',
    path: '/v1/videos/{id}/content',
    tag: 'Video',
    status: 302,
    summary: 'Download a video',
    description: `Leads to the file. 404 while there is none. ${WHILE_RESTORED}`,
    query: z.object({ variant: z.enum(['video']).optional() }),
    answers: {},
  },
]
