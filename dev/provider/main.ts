import { parseArgs } from 'node:util'
import { readServed } from '#dev/seed/catalog.ts'
import { createResolver } from '#shared/catalog/resolve.ts'
import { exitCodeOf } from '#shared/exit-codes.ts'
import { createSampleProvider } from './server.ts'

/** `node --import tsx dev/provider/main.ts --host 127.0.0.11 --port 8501 --name sandbox-a` */
const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    name: { type: 'string', default: 'sandbox' },
    queue: { type: 'boolean', default: false },
  },
})

const { models: known, named } = readServed()
const names = new Set(named.map((name) => name.toLowerCase()))
const resolve = createResolver(known)
const models = [...known.flatMap((model) => (model.isSandbox ? [] : [model.id])), ...named]
const provider = await createSampleProvider({
  host: values.host,
  port: Number(values.port),
  name: values.name,
  models,
  hasModel: (name) => names.has(name.toLowerCase()) || resolve(name) !== undefined,
  isQueue: values.queue,
}).catch((error: unknown) => {
  console.error(error)
  process.exit(exitCodeOf(error))
})
console.log(`sample provider ${values.name} at ${provider.url}`)

process.once('SIGTERM', () => void provider.close())
process.once('SIGINT', () => void provider.close())
