/** The kinds of media in requests. */
export type MediaKind = 'video' | 'music' | 'image' | 'speech' | 'transcription'

/**
 * The members of a request that decide its output. A member in no table only tunes the output: it goes to a provider
 * that supports it, or is named as left out. The tables of `members` have the costly ones.
 */
export type MemberTable = {
  /** Parsed members, each with all names that clients use for it, the market's own first. */
  readonly read: Readonly<Record<string, readonly string[]>>
  /**
   * Members that would change the output or its price and that no provider receives, with the reason or the way out.
   */
  readonly refusals: Readonly<Record<string, string>>
}

/** Names of OpenAI, OpenRouter, fal, Together, Google, Runway, LiteLLM and the AI SDK for the same members. */
const SECONDS: readonly string[] = [
  'seconds',
  'duration',
  'duration_seconds',
  'durationSeconds',
  'duration_s',
  'duration_sec',
  'duration_secs',
  'duration_in_seconds',
  'durationInSeconds',
  'length',
  'length_seconds',
  'length_in_seconds',
  'video_length',
  'video_duration',
  'audio_length',
  'audio_duration',
  'seconds_total',
  'total_seconds',
  'n_seconds',
  'num_seconds',
]
const MILLISECONDS: readonly string[] = ['duration_ms', 'durationMs', 'length_ms', 'music_length_ms', 'musicLengthMs']
const COUNT: readonly string[] = [
  'n',
  'sample_count',
  'sampleCount',
  'num_samples',
  'num_outputs',
  'numOutputs',
  'n_variants',
  'batch_size',
]
const ASPECT_RATIO: readonly string[] = ['aspect_ratio', 'aspectRatio', 'ratio']
const RESPONSE_FORMAT: readonly string[] = ['response_format', 'responseFormat']

const AT_THE_TOP = 'put its members at the top level of the request'
/** Objects that some clients put around their members. */
const CONTAINERS: Readonly<Record<string, string>> = Object.fromEntries(
  ['parameters', 'extra_body', 'extraBody', 'provider_options', 'providerOptions', 'input_params', 'instances'].map(
    (name) => [name, AT_THE_TOP],
  ),
)

const refuse = (names: readonly string[], words: string) => Object.fromEntries(names.map((name) => [name, words]))

/** The tables of the media wires. The description of the API prints them. */
export const MEDIA_MEMBERS = {
  video: {
    read: {
      seconds: SECONDS,
      milliseconds: MILLISECONDS,
      n: [...COUNT, 'num_videos', 'numVideos', 'number_of_videos', 'numberOfVideos', 'video_count'],
      size: ['size', 'video_size', 'videoSize', 'dimensions'],
      resolution: ['resolution', 'video_resolution', 'videoResolution'],
      aspect_ratio: ASPECT_RATIO,
      start: [
        'image_url',
        'image',
        'input_reference',
        'input_images',
        'images',
        'frame_images',
        'imageUrl',
        'image_urls',
        'imageUrls',
        'inputReference',
        'start_image_url',
        'startImageUrl',
        'start_image',
        'startImage',
        'first_frame_url',
        'first_frame_image',
        'first_frame_image_url',
        'first_frame',
        'firstFrame',
        'prompt_image',
        'promptImage',
        'frameImages',
      ],
      end: [
        'end_image_url',
        'endImageUrl',
        'end_image',
        'endImage',
        'last_frame_url',
        'last_frame_image',
        'last_frame_image_url',
        'last_frame',
        'lastFrame',
        'tail_image_url',
        'tail_image',
        'image_tail',
      ],
      reference: [
        'reference_images',
        'input_references',
        'referenceImages',
        'reference_image',
        'reference_image_url',
        'reference_image_urls',
        'referenceImageUrls',
        'inputReferences',
        'subject_reference',
        'subject_references',
      ],
    },
    refusals: {
      ...CONTAINERS,
      ...refuse(
        ['num_frames', 'numFrames', 'frames', 'total_frames', 'frame_count', 'video_frames'],
        'give the length in seconds',
      ),
      ...refuse(
        [
          'video',
          'video_url',
          'videoUrl',
          'video_urls',
          'input_video',
          'inputVideo',
          'source_video',
          'reference_video',
          'reference_videos',
          'reference_video_urls',
          'remix_video_id',
          'remixed_from_video_id',
          'extend_video_id',
          'audio_url',
          'audioUrl',
          'audio_urls',
          'input_audio',
          'mask',
          'mask_url',
          'mask_image',
        ],
        'videos are made from text and images',
      ),
      ...refuse(['loras', 'lora', 'keyframes', 'storyboard', 'multi_prompt'], 'no seller receives it'),
    },
  },
  music: {
    read: {
      seconds: SECONDS,
      milliseconds: MILLISECONDS,
      n: [...COUNT, 'num_songs', 'number_of_songs', 'song_count'],
      lyrics: ['lyrics', 'lyrics_prompt', 'lyricsPrompt', 'lyric', 'lyrics_text', 'lyricsText', 'song_lyrics'],
    },
    refusals: {
      ...CONTAINERS,
      ...refuse(
        [
          'audio',
          'audio_url',
          'audioUrl',
          'input_audio',
          'init_audio',
          'audio_prompt',
          'reference_audio',
          'reference_audio_url',
          'referenceAudioUrl',
          'melody',
          'melody_url',
          'extend_audio_id',
          'continuation',
          'voice',
          'voice_id',
          'voiceId',
          'singer',
          'composition_plan',
        ],
        'music is made from words',
      ),
      ...refuse(['tags', 'style', 'genre', 'mood', 'bpm', 'tempo', 'key_scale'], 'say it in the prompt'),
      ...refuse(['make_instrumental', 'makeInstrumental', 'is_instrumental'], 'use instrumental'),
    },
  },
  image: {
    read: {
      n: [...COUNT, 'num_images', 'numImages', 'number_of_images', 'numberOfImages', 'image_count'],
      size: ['size', 'image_size', 'imageSize', 'dimensions'],
      resolution: ['resolution'],
      quality: ['quality'],
      aspect_ratio: ASPECT_RATIO,
      response_format: RESPONSE_FORMAT,
      source: [
        'image',
        'image_url',
        'images',
        'input_images',
        'input_references',
        'imageUrl',
        'image_urls',
        'imageUrls',
        'input_image',
        'input_image_url',
        'reference_images',
        'referenceImages',
        'reference_image',
        'reference_image_url',
        'reference_image_urls',
        'inputReferences',
      ],
      mask: ['mask', 'mask_url', 'maskUrl', 'mask_image', 'maskImage', 'mask_image_url', 'mask_images'],
    },
    refusals: CONTAINERS,
  },
  speech: {
    read: {
      input: ['input', 'text'],
      voice: ['voice', 'voice_id', 'voiceId', 'voice_name', 'voiceName'],
      response_format: [...RESPONSE_FORMAT, 'format', 'output_format', 'outputFormat', 'audio_format'],
    },
    refusals: CONTAINERS,
  },
  transcription: {
    read: {
      response_format: [...RESPONSE_FORMAT, 'format', 'output_format'],
      'timestamp_granularities[]': ['timestamp_granularities[]', 'timestamp_granularities'],
    },
    refusals: CONTAINERS,
  },
} as const satisfies Readonly<Record<MediaKind, MemberTable>>

/** All names that a wire parses. */
export function namesRead({ read }: MemberTable): ReadonlySet<string> {
  return new Set(Object.values(read).flat())
}
