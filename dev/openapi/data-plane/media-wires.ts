import { z } from 'zod'
import { MEDIA_MEMBERS } from '#shared/media-members.ts'
import { JOB_ROUTES } from './job-wires.ts'
import { otherNamesOf } from './media-names.ts'
import type { DataRoute } from './route.ts'
import { CALL_REFUSALS, Cost, Count, ROUTING, STREAM } from './route.ts'

const Model = z.string().min(1)
const paidRoute = { method: 'post', envelope: 'v1', access: 'buyer', isPaid: true, refusals: CALL_REFUSALS } as const

const EmbeddingRequest = z
  .looseObject({
    model: Model,
    input: z.union([
      z.string().min(1),
      z.array(z.string().min(1)).min(1).max(2_048),
      z.array(Count.min(0)).min(1),
      z
        .array(z.array(Count.min(0)).min(1))
        .min(1)
        .max(2_048),
    ]),
    dimensions: Count.min(1).max(65_536).nullish(),
    encoding_format: z.enum(['float', 'base64']).nullish(),
    user: z.string().max(4_096).nullish(),
    ...ROUTING,
  })
  .meta({ id: 'EmbeddingRequest', description: 'Texts or tokens to make vectors of.' })
const EmbeddingAnswer = z
  .object({
    object: z.literal('list'),
    data: z.array(
      z.object({
        object: z.literal('embedding'),
        index: Count,
        embedding: z.union([z.array(z.number()), z.string()]),
      }),
    ),
    model: z.string(),
    provider: z.string(),
    usage: Cost.extend({ prompt_tokens: Count, total_tokens: Count }),
  })
  .meta({ id: 'EmbeddingAnswer', description: 'Vectors of the inputs, in their order.' })
const { speech } = MEDIA_MEMBERS
const SpeechRequest = z
  .looseObject({
    model: Model,
    input: z.string().min(1).max(16_384),
    voice: z
      .unknown()
      .optional()
      .describe(`The name of a voice; \`alloy\` where none is named. ${otherNamesOf(speech.read.voice)}`),
    response_format: z
      .enum(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'])
      .nullish()
      .describe(otherNamesOf(speech.read.response_format)),
    speed: z.number().min(0.25).max(4).nullish(),
    instructions: z.string().max(16_384).nullish(),
    stream_format: z.enum(['audio', 'sse']).nullish(),
    ...ROUTING,
  })
  .meta({ id: 'SpeechRequest', description: 'A text to speak, with the voice and the audio format.' })
const TranscriptionForm = z
  .looseObject({
    file: z.string().meta({ format: 'binary', description: 'Audio of at most 25 MB.' }),
    model: Model,
    language: z.string().max(35).optional(),
    prompt: z.string().optional(),
    response_format: z.enum(['json', 'text', 'srt', 'verbose_json', 'vtt']).optional(),
    temperature: z.string().optional().describe('A number from 0 to 1.'),
    stream: z.enum(['true', 'false']).optional(),
  })
  .meta({
    id: 'TranscriptionForm',
    description: 'A recording to transcribe, with its language and the response format.',
  })
const Transcript = z
  .looseObject({ text: z.string(), usage: z.looseObject(Cost.shape) })
  .meta({ id: 'Transcript', description: 'The text of a recording, and the cost of the call.' })

const FILE = z.string().meta({ format: 'binary' })

/** The wires that sell media, and their files. */
export const MEDIA_ROUTES: readonly DataRoute[] = [
  {
    ...paidRoute,
    path: '/v1/embeddings',
    tag: 'Embeddings',
    summary: 'Create embeddings',
    description: 'Answers one vector for each text of `input`.',
    body: EmbeddingRequest,
    answers: { 'application/json': EmbeddingAnswer },
    examples: { whole: { model: 'text-embedding-3-small', input: ['first text', 'second text'], dimensions: 8 } },
  },
  {
    ...paidRoute,
    path: '/v1/audio/speech',
    takesFloor: true,
    tag: 'Audio',
    summary: 'Create speech',
    description: 'Answers the sound of `input` in the format that you ask for.',
    body: SpeechRequest,
    answers: { 'audio/*': z.string().meta({ format: 'binary' }), 'text/event-stream': STREAM },
    examples: { whole: { model: 'tts-1', voice: 'alloy', input: 'Good morning.', response_format: 'wav' } },
  },
  {
    ...paidRoute,
    path: '/v1/audio/transcriptions',
    takesFloor: true,
    tag: 'Audio',
    summary: 'Create a transcription',
    description: 'Transcribes an audio file of a multipart form.',
    isForm: true,
    body: TranscriptionForm,
    answers: { 'application/json': Transcript, 'text/plain': z.string(), 'text/event-stream': STREAM },
    examples: { whole: { model: 'gpt-4o-transcribe', response_format: 'json' } },
  },
  ...JOB_ROUTES,
  {
    method: 'get',
    path: '/v1/media/artifacts/{jobId}/{index}',
    tag: 'Media files',
    summary: 'Download a media file',
    description:
      'Send a key of the payer, or the token of the job in X-Job-Token, or use a link from an answer, which has expires and signature. Takes Range, If-Range and If-None-Match: 206 is a part, 304 an unchanged file, 416 a part that does not exist.',
    envelope: 'v1',
    access: 'buyer',
    takesFloor: true,
    query: z.object({
      expires: z.string().optional().describe('Unix seconds until which the link opens the file.'),
      signature: z.string().optional().describe('The signature of the link.'),
    }),
    answers: { 'image/*': FILE, 'video/*': FILE, 'audio/*': FILE, 'application/octet-stream': FILE },
    refusals: [400, 401, 403, 404, 405, 416, 429, 500, 503],
  },
]
