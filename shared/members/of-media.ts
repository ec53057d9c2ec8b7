import { MEDIA_MEMBERS, namesRead } from '#shared/media-members.ts'
import type { CostRow, CostTable, MemberCost } from './read-members.ts'
import { costs, costsAbove, costsBut, free } from './read-members.ts'

const SERVICE_TIER: CostRow = ['service_tier', costsBut('service_tier', ['auto', 'default', 'standard'])]
/** The fewest default steps of a model on sale: FLUX.1 schnell's at Together. */
const USUAL_STEPS = 4
/** The frame rate of videos below which no provider bills less. */
const USUAL_FRAMES_A_SECOND = 24

/** Images and edits. */
export const IMAGE_MEMBERS: CostTable = new Map<string, MemberCost | 'free'>([
  SERVICE_TIER,
  ...free(
    'model',
    'prompt',
    'stream',
    'partial_images',
    'width',
    'height',
    ...namesRead(MEDIA_MEMBERS.image),
    'user',
    'background',
    'output_compression',
    'moderation',
    'style',
    'input_fidelity',
    'seed',
    'strength',
    'negative_prompt',
    'guidance_scale',
    'guidance',
    'enable_safety_checker',
    'disable_safety_checker',
    'safety_tolerance',
    'safety_identifier',
    'metadata',
    'temperature',
    // LiteLLM's setting for members that a model does not take.
    'drop_params',
  ),
  ['quality', costsBut('picture_quality', ['auto', 'low', 'standard'])],
  ['output_format', costsBut('picture_kind', ['png', 'jpeg', 'jpg', 'webp'])],
  ['complexity', costsBut('picture_kind', ['auto'])],
  ['frame_count', costsAbove('picture_kind', 1)],
  ['steps', costsAbove('steps', USUAL_STEPS)],
  ['num_inference_steps', costsAbove('steps', USUAL_STEPS)],
])

/** Videos. */
export const VIDEO_MEMBERS: CostTable = new Map<string, MemberCost | 'free'>([
  SERVICE_TIER,
  ...free(
    'model',
    'prompt',
    'width',
    'height',
    ...namesRead(MEDIA_MEMBERS.video),
    'user',
    'seed',
    'negative_prompt',
    'cfg_scale',
    'camera_control',
    'enable_prompt_expansion',
    'prompt_optimizer',
    'auto_fix',
    'enhance_prompt',
    'guidance_scale',
    'num_inference_steps',
    'output_format',
    'motion_strength',
    'metadata',
  ),
  ['generate_audio', costs('film_audio')],
  ['fps', costsAbove('frame_rate', USUAL_FRAMES_A_SECOND)],
  ['frames_per_second', costsAbove('frame_rate', USUAL_FRAMES_A_SECOND)],
])

/** Music. */
export const MUSIC_MEMBERS: CostTable = new Map<string, MemberCost | 'free'>([
  SERVICE_TIER,
  ...free(
    'model',
    'prompt',
    ...namesRead(MEDIA_MEMBERS.music),
    'user',
    'seed',
    'negative_prompt',
    'enable_prompt_expansion',
    'prompt_optimizer',
    'enhance_prompt',
    'guidance_scale',
    'num_inference_steps',
    'output_format',
    'audio_format',
    'instrumental',
    'force_instrumental',
    'metadata',
  ),
])

/** Text to speech. */
export const SPEECH_MEMBERS: CostTable = new Map<string, MemberCost | 'free'>([
  SERVICE_TIER,
  ...free(
    'model',
    'stream',
    'stream_format',
    ...namesRead(MEDIA_MEMBERS.speech),
    'speed',
    'instructions',
    'user',
    'language',
    'lang_code',
    'language_code',
    'sample_rate',
    'seed',
    'temperature',
    'volume',
    'pitch',
    'emotion',
    'bitrate',
    'metadata',
  ),
])

/** Transcription. Members of an object are fields of their own, `chunking_strategy[type]`. */
export const TRANSCRIPTION_MEMBERS: CostTable = new Map<string, MemberCost | 'free'>([
  SERVICE_TIER,
  ...free(
    'model',
    ...namesRead(MEDIA_MEMBERS.transcription),
    'language',
    'prompt',
    'temperature',
    'stream',
    'include',
    'chunking_strategy',
    'user',
    'seed',
    'timestamp_granularities',
    'known_speaker_names',
    'diarize',
    'metadata',
  ),
])
