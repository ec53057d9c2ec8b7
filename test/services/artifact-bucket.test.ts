import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { Writable } from 'node:stream'
import { CreateBucketCommand, DeleteBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { startFauxqs } from 'fauxqs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openArtifactBucket } from '#data-plane/store/artifact-bucket.ts'
import type { ArtifactLimits } from '#data-plane/store/artifact-store.ts'
import type { BucketAddress } from '#data-plane/store/s3-bucket.ts'
import { openS3Bucket } from '#data-plane/store/s3-bucket.ts'
import type { Time } from '#shared/clock.ts'
import { HOUR, systemClock } from '#shared/clock.ts'
import { createLogger } from '#shared/logger.ts'
import { Secret } from '#shared/secret.ts'
import type { StorePlace } from '#test/support/books/artifact-store-suite.ts'
import { artifactId, artifactStoreSuite, picture, readStored } from '#test/support/books/artifact-store-suite.ts'
import type { Relay } from '#test/support/chain/relay.ts'
import { startRelay } from '#test/support/chain/relay.ts'
import { until } from '#test/support/run/until.ts'

const KEY = { id: 'AKIACANARYKEYID00000', secret: 'canary/secret+0123456789abcdefghijklmnopq' }
const PREFIX = 'media/'
const LIMITS: ArtifactLimits = { fileBytes: 40_000_000, ownerBytes: 60_000_000, totalBytes: 60_000_000, keepMs: HOUR }

/** A server of S3's protocol from a package, and a connection to it that can be made to fail. */
let server: Awaited<ReturnType<typeof startFauxqs>>
let wire: Relay
let s3: S3Client
let lines: string[]
let count = 0

beforeAll(async () => {
  server = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false })
  wire = await startRelay(`http://127.0.0.1:${server.port}`)
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  s3 = new S3Client({
    endpoint: `http://127.0.0.1:${server.port}`,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials,
  })
})
afterEach(() => wire.pass())
afterAll(async () => {
  s3.destroy()
  await wire.close()
  await server.stop()
})

/** A log that the test can read. */
function openLog() {
  lines = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  return createLogger('data-plane', 'trace', sink)
}

const addressOf = (bucket: string, endpoint: string): BucketAddress => ({
  bucket,
  prefix: PREFIX,
  region: 'us-east-1',
  endpoint,
  isPathStyle: true,
  keyId: new Secret(KEY.id),
  secret: new Secret(KEY.secret),
})

async function openStore(bucket: string, limits: ArtifactLimits, clock: Time = systemClock, endpoint = wire.url) {
  const opened = await openS3Bucket(addressOf(bucket, endpoint), clock)
  return openArtifactBucket({ bucket: opened, limits, clock, log: openLog() })
}

async function openPlace(): Promise<StorePlace & { readonly bucket: string }> {
  const bucket = `files-${count++}`
  await s3.send(new CreateBucketCommand({ Bucket: bucket }))
  return {
    bucket,
    open: (_node, limits, clock) => openStore(bucket, limits, clock),
    async left() {
      const { Contents: found = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket }))
      if (found.length > 0) return found.map(({ Key: key }) => key ?? '')
      // The server keeps a bucket in which an upload was begun.
      try {
        await s3.send(new DeleteBucketCommand({ Bucket: bucket }))
      } catch {
        return ['an upload']
      }
      await s3.send(new CreateBucketCommand({ Bucket: bucket }))
      return []
    },
    close: async () => undefined,
  }
}

artifactStoreSuite('a bucket of media files', openPlace)

describe('a bucket of media files', () => {
  it('holds names under its prefix, and leaves the others alone', async () => {
    const place = await openPlace()
    const store = await openStore(place.bucket, LIMITS)
    const id = artifactId(1)
    await store.put(id, picture(10))
    expect(await place.left()).toEqual([`${PREFIX}${id.rid}-1`])
    await store.close()
  })

  it.each([
    ['small', 1_000],
    ['large', 20_000_000],
  ])(
    'that cannot be reached refuses a %s file with 503, stores nothing, and accepts the file later',
    async (_size, bytes) => {
      const place = await openPlace()
      const store = await openStore(place.bucket, LIMITS)
      const id = artifactId()
      wire.fault({ refuses: true })
      const down = { code: 'service_unavailable', status: 503 }
      await expect(store.put(id, picture(bytes))).rejects.toMatchObject(down)
      await expect(store.open(id)).rejects.toMatchObject(down)
      await expect(store.remove(id)).rejects.toMatchObject(down)
      expect(store.figures()).toMatchObject({ files: 0, bytes: 0 })
      wire.pass()
      expect(await place.left()).toEqual([])
      await store.put(id, picture(bytes))
      expect(await readStored(store, id)).toHaveLength(bytes)
      await store.close()
    },
  )

  it('that disconnects during an upload keeps nothing of the file', async () => {
    const place = await openPlace()
    const store = await openStore(place.bucket, LIMITS)
    async function* pieces() {
      yield Buffer.alloc(9_000_000)
      wire.fault({ refuses: true })
      wire.cut()
      yield Buffer.alloc(9_000_000)
    }
    const storing = store.put(artifactId(), { ...picture(0), pieces: pieces() })
    await expect(storing).rejects.toMatchObject({ code: 'service_unavailable' })
    // The abort failed, too, and the log says so. A sweep aborts the upload an hour later.
    expect(lines.join('')).toContain('an upload could not be aborted')
    wire.pass()
    expect(await place.left()).toEqual(['an upload'])
    expect(store.figures().bytes).toBe(0)
    await store.close()
  })

  it('that loses the answer to the last step has the file', async () => {
    const place = await openPlace()
    const store = await openStore(place.bucket, LIMITS)
    const id = artifactId()
    async function* pieces() {
      yield Buffer.alloc(9_000_000, 5)
      wire.cutReplyTo('<CompleteMultipartUpload')
    }
    await store.put(id, { ...picture(0), pieces: pieces() })
    expect(wire.cuts()).toBe(1)
    expect(await readStored(store, id)).toHaveLength(9_000_000)
    expect(await place.left()).toHaveLength(1)
    await store.close()
  })

  it('that cuts a download fails its reader, who never gets a shorter file as whole', async () => {
    const place = await openPlace()
    const store = await openStore(place.bucket, LIMITS)
    const id = artifactId()
    await store.put(id, picture(20_000_000))
    const file = await store.open(id)
    wire.cut()
    wire.fault({ cutsAfterBytes: 5_000_000 })
    const stream = file?.stream()
    await expect(stream?.resume() && once(stream, 'end')).rejects.toThrow()
    await store.close()
  })

  it('never shows a mix of two versions when a file is replaced during a read', async () => {
    const place = await openPlace()
    const store = await openStore(place.bucket, LIMITS)
    const id = artifactId()
    await store.put(id, picture(1_000))
    const file = await store.open(id)
    await store.put(id, { ...picture(0), pieces: [Buffer.alloc(2_000, 1)] })
    const stream = file?.stream()
    await expect(stream?.resume() && once(stream, 'end')).rejects.toThrow('replaced')
    await store.close()
  })
})

type Answered = (request: IncomingMessage, response: ServerResponse) => void

/** A server that answers with recorded bytes, and the requests to it. */
async function startRecorded(answer: Answered) {
  const asked: string[] = []
  const recorded = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    request.resume().on('end', () => answer(request, response))
  })
  await new Promise<void>((resolve) => recorded.listen(0, '127.0.0.1', resolve))
  const address = recorded.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, asked, close: () => recorded.closeAllConnections() ?? recorded.close() }
}

/**
 * Two recorded answers of a server of this protocol, with other uploads. The package's server does not list unfinished
 * uploads.
 */
const begunUploads = (uploads: readonly { name: string; id: string; begun: string }[]) =>
  `<?xml version="1.0" encoding="utf-8"?>
<ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Bucket>files</Bucket><KeyMarker/><UploadIdMarker/><MaxUploads>1000</MaxUploads><IsTruncated>false</IsTruncated>${uploads
    .map(
      ({ name, id, begun }) =>
        `<Upload><UploadId>${id}</UploadId><Key>${name}</Key><Initiated>${begun}</Initiated><StorageClass>STANDARD</StorageClass><Owner><DisplayName>webfile</DisplayName><ID>75aa57f09aa0</ID></Owner></Upload>`,
    )
    .join('')}</ListMultipartUploadsResult>`
const NO_OBJECTS = `<?xml version="1.0" encoding="utf-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>false</IsTruncated><Name>files</Name><Prefix>media/</Prefix><MaxKeys>1000</MaxKeys><KeyCount>0</KeyCount></ListBucketResult>`
const WRONG_KEY = `<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match.</Message>
<AWSAccessKeyId>${KEY.id}</AWSAccessKeyId><StringToSign>AWS4-HMAC-SHA256 ${KEY.secret}</StringToSign>
<SignatureProvided>canary-signature</SignatureProvided></Error>`

describe('a server of S3’s protocol, by recorded answers', () => {
  it('is asked to abort the uploads of a dead process, and no other', async () => {
    const [dead, young] = [artifactId(), artifactId()]
    const begun = (ago: number) => new Date(Date.now() - ago).toISOString()
    const uploads = [
      { name: `${PREFIX}${dead.rid}-0`, id: 'left', begun: begun(HOUR + 1) },
      { name: `${PREFIX}${young.rid}-0`, id: 'running', begun: begun(HOUR / 2) },
      { name: `${PREFIX}notes.txt`, id: 'foreign', begun: begun(HOUR * 9) },
    ]
    const { url, asked, close } = await startRecorded((request, response) => {
      response.setHeader('content-type', 'application/xml')
      if (request.method === 'DELETE') response.writeHead(204).end()
      else response.end(request.url?.includes('uploads') === true ? begunUploads(uploads) : NO_OBJECTS)
    })
    const store = await openStore('files', LIMITS, systemClock, url)
    await until('it was asked', 5_000, async () => asked.some((line) => line.startsWith('DELETE')))
    await store.close()
    const aborted = asked.filter((line) => line.startsWith('DELETE'))
    expect(aborted).toHaveLength(1)
    expect(aborted[0]).toContain(`/files/${PREFIX}${dead.rid}-0?uploadId=left`)
    close()
  })

  it('without a list of uploads is swept without them', async () => {
    const { url, asked, close } = await startRecorded((request, response) => {
      if (request.url?.includes('uploads') === true)
        response.writeHead(501).end('<Error><Code>NotImplemented</Code></Error>')
      else response.end(NO_OBJECTS)
    })
    const store = await openStore('files', LIMITS, systemClock, url)
    await until('it was asked', 5_000, async () => asked.some((line) => line.includes('uploads')))
    await store.close()
    expect(lines).toEqual([])
    close()
  })

  it('that refuses the key causes a 503, and neither log nor error names key, secret or signature', async () => {
    const { url, close } = await startRecorded((_request, response) => {
      response.writeHead(403, { 'content-type': 'application/xml' }).end(WRONG_KEY)
    })
    const store = await openStore('files', LIMITS, systemClock, url)
    const error: unknown = await store.put(artifactId(), picture(10)).catch((thrown: unknown) => thrown)
    const log = openLog()
    log.warn({ err: error }, 'refused')
    await store.close()
    expect(error).toMatchObject({ code: 'service_unavailable', cause: { status: 403 } })
    expect(lines.join('')).toContain('SignatureDoesNotMatch')
    for (const word of [KEY.id, KEY.secret, 'canary']) expect(lines.join('')).not.toContain(word)
    close()
  })

  it('that accepts and never answers ends with a timeout', async () => {
    const { url, close } = await startRecorded(() => undefined)
    const clock: Time = { ...systemClock, after: (ms, run) => systemClock.after(ms / 100, run) }
    const store = await openStore('files', LIMITS, clock, url)
    await expect(store.open(artifactId())).rejects.toMatchObject({
      code: 'service_unavailable',
      cause: { message: 'the bucket could not be reached: no answer in time' },
    })
    close()
    await store.close()
  })
})
