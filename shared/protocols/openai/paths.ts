import type { ForwardPaths } from '#shared/protocols/protocol.ts'

export const PATHS: ForwardPaths = {
  chat: '/chat/completions',
  completions: '/completions',
  embeddings: '/embeddings',
  speech: '/audio/speech',
  transcription: '/audio/transcriptions',
}
