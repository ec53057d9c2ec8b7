const SEGMENT = '[A-Za-z0-9][\\w.:@-]{0,99}'
const WHOLE = new RegExp(`^projects/${SEGMENT}/locations/${SEGMENT}/publishers/${SEGMENT}/models/(${SEGMENT})$`)

/**
 * The path of a method of a model that is given by its full resource name at Vertex AI, which contains project,
 * location and publisher. Undefined for any other name.
 */
export function wholeModelPath(providerModel: string, method: string): string | undefined {
  return WHOLE.test(providerModel) ? `/${providerModel}:${method}` : undefined
}
