import { Readable } from 'node:stream'
import type { GetObjectCommandOutput } from '@aws-sdk/client-s3'
import type { Timers } from '#shared/clock.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { Secret } from '#shared/secret.ts'

const CONNECT_TIMEOUT_MS = 2 * SECOND
/** Milliseconds for a request, and for the upload of one part. */
const QUESTION_MS = 10 * SECOND
const UPLOAD_MS = MINUTE
/** Attempts of each request in all. */
const MAX_ATTEMPTS = 2
const MAX_SOCKETS = 256
const MISSING: ReadonlySet<number> = new Set([404, 412])

/** A bucket of a server that speaks S3's protocol, and the key that opens it. */
export type BucketAddress = {
  readonly bucket: string
  /** The prefix of every name in the bucket. */
  readonly prefix: string
  readonly region: string
  /** Undefined means AWS in the region. */
  readonly endpoint: string | undefined
  /** True for servers that expect the bucket's name in the path and not in the host. */
  readonly isPathStyle: boolean
  readonly keyId: Secret
  readonly secret: Secret
}

/** Facts that are stored with an object, as short ASCII texts. */
export type ObjectFacts = { readonly contentType: string; readonly metadata: Readonly<Record<string, string>> }

export type StoredObject = ObjectFacts & {
  readonly bytes: number
  /** The server's own tag of this content. */
  readonly etag: string
}

/** A file that is uploaded in parts. It is invisible before it is complete. */
export type Upload = {
  readonly id: string
  part(bytes: Uint8Array): Promise<void>
  complete(): Promise<void>
  abort(): Promise<void>
}

/** Names in a bucket, and the start of the next page. */
export type NamePage = { readonly names: readonly string[]; readonly next: string | undefined }

/** An upload that is neither complete nor aborted. */
export type BegunUpload = { readonly name: string; readonly id: string; readonly begunAt: number }

/**
 * The part of a bucket that media files need. Names are without the prefix. Every method throws {@link BucketError}
 * when the server refuses, fails or cannot be reached; a missing object is undefined.
 */
export type S3Bucket = {
  write(name: string, facts: ObjectFacts, bytes: Uint8Array): Promise<void>
  begin(name: string, facts: ObjectFacts): Promise<Upload>
  head(name: string): Promise<StoredObject | undefined>
  /** Opens the content with this etag, or a part of it. Undefined for changed or removed content. */
  read(
    name: string,
    etag: string,
    range: { readonly first: number; readonly last: number },
  ): Promise<Readable | undefined>
  remove(name: string): Promise<void>
  list(from: string | undefined): Promise<NamePage>
  /** The first uploads that are not complete. */
  listBegun(): Promise<readonly BegunUpload[]>
  abort(name: string, upload: string): Promise<void>
  close(): void
}

/** A failed request to a bucket. Unlike the client's errors, it contains no keys and signatures. */
export class BucketError extends Error {
  override readonly name = 'BucketError'
  /** The status of HTTP; 0 without an answer. */
  readonly status: number
  constructor(status: number, word: string) {
    super(status === 0 ? `the bucket could not be reached: ${word}` : `the bucket answered ${status} ${word}`)
    this.status = status
  }
}

/** Loads the client and opens a bucket, without a request. */
export async function openS3Bucket(address: BucketAddress, clock: Timers): Promise<S3Bucket> {
  // The client is large, so only processes that keep files in a bucket load it.
  const s3 = await import('@aws-sdk/client-s3')
  const client = new s3.S3Client({
    region: address.region,
    ...(address.endpoint !== undefined && { endpoint: address.endpoint }),
    forcePathStyle: address.isPathStyle,
    credentials: { accessKeyId: address.keyId.reveal(), secretAccessKey: address.secret.reveal() },
    maxAttempts: MAX_ATTEMPTS,
    // Many servers of this protocol do not know the client's own checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      httpAgent: { keepAlive: true, maxSockets: MAX_SOCKETS },
      httpsAgent: { keepAlive: true, maxSockets: MAX_SOCKETS },
    },
  })
  const parts: Parts = {
    s3,
    client,
    address,
    within: (limitMs, send) => within(clock, limitMs, send),
    at: (name) => ({ Bucket: address.bucket, Key: address.prefix + name }),
  }
  return { ...writing(parts), ...reading(parts), ...listing(parts), close: () => client.destroy() }
}

type Sdk = typeof import('@aws-sdk/client-s3')
type Parts = {
  readonly s3: Sdk
  readonly client: InstanceType<Sdk['S3Client']>
  readonly address: BucketAddress
  within<Answer>(limitMs: number, send: (options: Options) => Promise<Answer>): Promise<Answer>
  at(name: string): { readonly Bucket: string; readonly Key: string }
}
type Options = { readonly abortSignal: AbortSignal }

function stored({ contentType, metadata }: ObjectFacts) {
  return { ContentType: contentType, Metadata: { ...metadata } }
}

function writing(parts: Parts): Pick<S3Bucket, 'write' | 'begin' | 'abort'> {
  const { s3, client, at } = parts
  const abort = async (name: string, id: string) => {
    const command = new s3.AbortMultipartUploadCommand({ ...at(name), UploadId: id })
    await unlessMissing(parts.within(QUESTION_MS, (options) => client.send(command, options)))
  }
  return {
    async write(name, facts, bytes) {
      const command = new s3.PutObjectCommand({ ...at(name), ...stored(facts), Body: bytes })
      await parts.within(UPLOAD_MS, (options) => client.send(command, options))
    },
    async begin(name, facts) {
      const command = new s3.CreateMultipartUploadCommand({ ...at(name), ...stored(facts) })
      const { UploadId: id } = await parts.within(QUESTION_MS, (options) => client.send(command, options))
      if (id === undefined) throw new BucketError(200, 'no upload')
      const sentParts: { readonly PartNumber: number; readonly ETag: string | undefined }[] = []
      return {
        id,
        async part(bytes) {
          const place = { ...at(name), UploadId: id, PartNumber: sentParts.length + 1 }
          const part = new s3.UploadPartCommand({ ...place, Body: bytes })
          const { ETag } = await parts.within(UPLOAD_MS, (options) => client.send(part, options))
          sentParts.push({ PartNumber: place.PartNumber, ETag })
        },
        async complete() {
          const end = { ...at(name), UploadId: id, MultipartUpload: { Parts: sentParts } }
          const last = new s3.CompleteMultipartUploadCommand(end)
          await parts.within(UPLOAD_MS, (options) => client.send(last, options))
        },
        abort: () => abort(name, id),
      }
    },
    abort,
  }
}

function reading({ s3, client, at, within: ask }: Parts): Pick<S3Bucket, 'head' | 'read' | 'remove'> {
  return {
    async head(name) {
      const command = new s3.HeadObjectCommand(at(name))
      const head = await unlessMissing(ask(QUESTION_MS, (options) => client.send(command, options)))
      if (head === undefined) return undefined
      const { ContentLength: bytes = 0, ETag: etag = '', ContentType: contentType = '', Metadata: metadata = {} } = head
      return { bytes, etag, contentType, metadata }
    },
    async read(name, etag, { first, last }) {
      const part = { ...at(name), IfMatch: etag, Range: `bytes=${first}-${last}` }
      const command = new s3.GetObjectCommand(part)
      const answer = await unlessMissing(ask(QUESTION_MS, (options) => client.send(command, options)))
      return answer && bodyOf(answer)
    },
    async remove(name) {
      const command = new s3.DeleteObjectCommand(at(name))
      await unlessMissing(ask(QUESTION_MS, (options) => client.send(command, options)))
    },
  }
}

function listing({ s3, client, address, within: ask }: Parts): Pick<S3Bucket, 'list' | 'listBegun'> {
  const place = { Bucket: address.bucket, Prefix: address.prefix }
  return {
    async list(from) {
      const command = new s3.ListObjectsV2Command({ ...place, ContinuationToken: from })
      const page = await ask(QUESTION_MS, (options) => client.send(command, options))
      const names = (page.Contents ?? []).flatMap(({ Key: key }) => nameIn(address, key))
      return { names, next: page.NextContinuationToken }
    },
    async listBegun() {
      const command = new s3.ListMultipartUploadsCommand(place)
      const { Uploads: uploads = [] } = await ask(QUESTION_MS, (options) => client.send(command, options))
      return uploads.flatMap(({ Key: key, UploadId: id, Initiated: begunAt }) =>
        nameIn(address, key).flatMap((name) =>
          id === undefined || begunAt === undefined ? [] : [{ name, id, begunAt: begunAt.getTime() }],
        ),
      )
    },
  }
}

function nameIn({ prefix }: BucketAddress, key: string | undefined): readonly string[] {
  return key?.startsWith(prefix) ? [key.slice(prefix.length)] : []
}

function bodyOf({ Body: body }: GetObjectCommandOutput): Readable {
  if (body instanceof Readable) return body
  throw new BucketError(200, 'no body')
}

async function unlessMissing<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  return answer.catch((error: unknown) => {
    if (error instanceof BucketError && MISSING.has(error.status)) return undefined
    throw error
  })
}

async function within<Answer>(
  clock: Timers,
  limitMs: number,
  send: (options: { abortSignal: AbortSignal }) => Promise<Answer>,
): Promise<Answer> {
  const patience = new AbortController()
  const endWait = clock.after(limitMs, () => patience.abort())
  try {
    return await send({ abortSignal: patience.signal })
  } catch (error) {
    throw patience.signal.aborted ? new BucketError(0, 'no answer in time') : bucketError(error)
  } finally {
    endWait()
  }
}

/** The client's errors hold the signed text and the key's id. Only the status and the name are passed on. */
function bucketError(error: unknown): BucketError {
  const { $metadata, name, code } = Object(error)
  const status: unknown = Object($metadata).httpStatusCode
  const word = [code, name].find((text) => typeof text === 'string' && /^[\w.]{1,80}$/.test(text))
  return new BucketError(typeof status === 'number' ? status : 0, word ?? 'unknown')
}
