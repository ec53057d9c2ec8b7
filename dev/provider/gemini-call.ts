/** A call of Gemini's own protocol, with model and method in its path. */
export type GeminiCall = { readonly model: string; readonly method: string; readonly isAtVertex: boolean }

/** Reads the path of a call, at any base. Undefined for any other path. */
export function readGeminiCall(path: string): GeminiCall | undefined {
  const [, name, method] =
    /\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents|predict)$/.exec(
      path,
    ) ?? []
  if (name === undefined || method === undefined) return undefined
  try {
    return { model: decodeURIComponent(name), method, isAtVertex: path.includes('/publishers/google/') }
  } catch {
    return undefined
  }
}
