import type { CatalogItem } from '#control-plane/services/catalog/catalog-items.ts'
import { modelOf } from '#control-plane/services/catalog/catalog-items.ts'
import { readKeptModels, readKeptNames } from '#control-plane/services/catalog/kept/kept-models.ts'
import { SANDBOX_BEHAVIOUR_ENTRIES } from '#dev/provider/behaviours.ts'
import { SANDBOX_FILM_ENTRIES, SANDBOX_JOB_ENTRIES } from '#dev/provider/jobs.ts'
import type { Model } from '#shared/catalog/model.ts'
import type { SourceRole } from '#shared/clips.ts'
import { ANY_CLIP, SOURCE_ROLES } from '#shared/clips.ts'
import { AppError } from '#shared/errors.ts'

type SeedCatalog = {
  readonly real: readonly CatalogItem[]
  readonly sandbox: CatalogItem[]
  /** The ids of models that only the price package describes. */
  readonly packaged: ReadonlySet<string>
}

/** Unix seconds. It is older than every real model, so that no listing by date begins with a sandbox model. */
const SANDBOX_CREATED = 1_577_836_800
const SANDBOX_CONTEXT = 131_072
const SANDBOX_OUTPUT = 16_384

/**
 * The catalogue of the development market: the real models that this release knows first, and the sandbox models last.
 */
export async function readCatalog(): Promise<SeedCatalog> {
  const { models, unread } = await readKeptModels(Date.now())
  const [first] = unread
  if (first !== undefined) throw new AppError('internal_error', { message: `${first.model}: ${first.message}` })
  const writtenModels = new Set(readKeptNames().written.map(({ canonical }) => canonical))
  const packaged = models.flatMap(({ item, packaged: place }) =>
    place === undefined || writtenModels.has(item.canonical) ? [] : [item.canonical],
  )
  return {
    real: models.map(({ item }) => item),
    sandbox: [...sandboxItems(), ...sandboxJobs(), ...sandboxFilms()],
    packaged: new Set(packaged),
  }
}

/** The catalogue of a sample provider: whole models, and the names of those from the price package. */
export function readServed(): { readonly models: readonly Model[]; readonly named: readonly string[] } {
  const { written, named } = readKeptNames()
  return { models: [...written, ...sandboxItems(), ...sandboxJobs(), ...sandboxFilms()].map(modelOf), named }
}

/** The models of a catalogue, without prices. */
export function modelsOf({ real, sandbox }: Pick<SeedCatalog, 'real' | 'sandbox'>): readonly Model[] {
  return [...real, ...sandbox].map(modelOf)
}

/** The free test models, one for each behaviour of the sample provider. */
function sandboxItems(): CatalogItem[] {
  return SANDBOX_BEHAVIOUR_ENTRIES.map(({ id, title, description }) => ({
    id,
    canonical: id,
    aliases: [],
    name: title,
    created: SANDBOX_CREATED,
    description,
    context_length: SANDBOX_CONTEXT,
    architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] },
    pricing: { prompt: '0', completion: '0' },
    top_provider: { max_completion_tokens: SANDBOX_OUTPUT },
    supported_parameters: [
      'temperature',
      'top_p',
      'max_tokens',
      'max_completion_tokens',
      'stop',
      'stream',
      'seed',
      'tools',
      'tool_choice',
      'response_format',
      'reasoning_effort',
      'encoding_format',
      'dimensions',
      'speed',
      'instructions',
      'language',
      'prompt',
      'timestamp_granularities',
      'size',
      'quality',
      'background',
      'output_format',
    ],
    supported_features: ['vision', 'reasoning', 'tools', 'streaming'],
    endpoints: ['chat', 'completions', 'embeddings', 'speech', 'transcription', 'image', 'image-edit'],
    unit_pricing: { images: '0', characters: '0', seconds: '0' },
  }))
}

/** The free test models of long jobs, at providers of OpenAI's protocol. */
function sandboxJobs(): CatalogItem[] {
  return SANDBOX_JOB_ENTRIES.map((entry) => jobItem(entry, 'video', ['start']))
}

/** The free test models at providers that have a queue. */
function sandboxFilms(): CatalogItem[] {
  return SANDBOX_FILM_ENTRIES.map(({ makes, ...entry }) =>
    jobItem(entry, makes, makes === 'video' ? [...SOURCE_ROLES] : []),
  )
}

type Entry = { readonly id: string; readonly title: string; readonly description: string }

function jobItem({ id, title, description }: Entry, makes: 'video' | 'music', roles: SourceRole[]): CatalogItem {
  return {
    id,
    canonical: id,
    aliases: [],
    name: title,
    created: SANDBOX_CREATED,
    description,
    context_length: SANDBOX_CONTEXT,
    architecture: {
      input_modalities: roles.length > 0 ? ['text', 'image'] : ['text'],
      output_modalities: [makes === 'video' ? 'video' : 'audio'],
    },
    pricing: { prompt: '0', completion: '0' },
    unit_pricing: { seconds: '0' },
    top_provider: {},
    supported_parameters: [],
    supported_features: [],
    endpoints: [makes],
    clip: { ...ANY_CLIP, roles },
  }
}
