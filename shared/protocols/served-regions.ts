/** The parts of an offer that say where its provider works. */
type Place = { readonly baseUrl: string; readonly providerModel: string }

/** Hosts of one region, with the region in the first group. A name such as `europe-west4` lies in a larger region. */
const REGIONAL_HOSTS: readonly RegExp[] = [
  // OpenAI and xAI.
  /^(us|eu|ae)\.api\.openai\.com$/,
  /^((?:us|eu)-[a-z]+-\d)\.api\.x\.ai$/,
  // Vertex AI.
  /^([a-z]+-[a-z]+\d{1,2})-aiplatform\.googleapis\.com$/,
  /^aiplatform\.(us|eu)\.rep\.googleapis\.com$/,
]
const BEDROCK_HOST = /^bedrock-runtime\.([a-z]+(?:-[a-z]+)+-\d)\.amazonaws\.com$/
/** The inference profile of a Bedrock model. A model without a profile runs in the region of its host. */
const BEDROCK_PROFILE = /^(global|us|eu|apac|jp|au)\./

/**
 * The regions in which an offer is processed by its host or by the name of its model, the smallest first. Empty where
 * any region may process it.
 */
export function servedRegions({ baseUrl, providerModel }: Place): readonly string[] {
  const host = new URL(baseUrl).hostname
  const bedrock = BEDROCK_HOST.exec(host)?.[1]
  if (bedrock !== undefined) {
    const profile = BEDROCK_PROFILE.exec(providerModel)?.[1]
    if (profile !== undefined) return profile === 'global' ? [] : [profile]
    return withLarger(bedrock)
  }
  for (const pattern of REGIONAL_HOSTS) {
    const region = pattern.exec(host)?.[1]
    if (region !== undefined) return withLarger(region)
  }
  return []
}

function withLarger(region: string): readonly string[] {
  const [larger = ''] = region.split('-', 1)
  const name = larger === 'europe' ? 'eu' : larger
  return name === region ? [region] : [region, name]
}
