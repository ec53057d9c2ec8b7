import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { DATA_PLANE_FLAGS } from '#dev/network/start.ts'
import { systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { keepFile } from '#test/support/market/kept-artifact.ts'
import { FILM_BYTES, filmPieces } from './film.ts'
import type { BenchMarket } from './market.ts'
import { MEASURED_CORE, OTHER_CORE, startBenchMarket, startScript } from './market.ts'
import { memoryOf, resetPeak } from './memory.ts'
import { middle } from './middle.ts'
import { startNginx } from './nginx.ts'

const ROUNDS = 5
const COPIES = 4
const MEGABYTE = 1_000_000
const WHAT = `a film of ${FILM_BYTES / MEGABYTE} MB`

type Row = { readonly what: string; readonly figure: string; readonly beside?: string }

/** Measures large files of jobs: the copy of one from its provider, and its downloads against nginx relaying it. */
export async function measureArtifacts(): Promise<Row[]> {
  const host = await startScript(OTHER_CORE, 'test/bench/film-host.ts', [])
  const url = `http://127.0.0.1:${host.port}`
  const market = await startBenchMarket({})
  try {
    return [measureCopy(`${url}/film`), ...(await measureDownloads(market, url))]
  } finally {
    host.child.kill()
    await market.stop()
  }
}

const Copied = z.array(z.object({ addedBytes: z.number(), seconds: z.number() }))

/**
 * The parts that copy files of jobs, in a process of their own on the measured core, with the data plane's settings of
 * garbage collection. Up to 64 MiB of read bytes wait for a collection: V8 looks at memory outside its heap only then.
 */
function measureCopy(url: string): Row {
  const dir = mkdtempSync(join(tmpdir(), 'bench-films-'))
  try {
    const words = [
      ...DATA_PLANE_FLAGS,
      '--import',
      'tsx',
      'test/bench/film-copier.ts',
      '--url',
      url,
      '--dir',
      dir,
      '--copies',
      String(COPIES),
    ]
    const { stdout } = spawnSync('taskset', ['-c', String(MEASURED_CORE), process.execPath, ...words], {
      encoding: 'utf8',
    })
    const copied = Copied.parse(JSON.parse(stdout))
    const rates = copied.map(({ seconds }) => FILM_BYTES / MEGABYTE / seconds)
    // The first copy also grows the process to the size at which it first collects garbage.
    const [first = 0, ...others] = copied.map(({ addedBytes }) => addedBytes)
    return {
      what: `memory of a copy of ${WHAT}, to the disk`,
      figure: added(others),
      beside: `${middle(rates).toFixed(0)} MB/s with the sync; the first of a fresh process ${added([first])}`,
    }
  } finally {
    rmSync(dir, { recursive: true })
  }
}

function added(bytes: readonly number[]): string {
  const megabytes = bytes.map((each) => (each / MEGABYTE).toFixed(0))
  return `at most ${(Math.max(...bytes) / MEGABYTE).toFixed(0)} MB: ${megabytes.join(', ')}`
}

async function measureDownloads({ network }: BenchMarket, hostUrl: string): Promise<Row[]> {
  const pid = network.sandbox.pids['data_plane'] ?? 0
  const place = { journal: 'journal', rid: createIds(systemClock).requestId(), index: 0 }
  const film = { owner: 'acc_bench', contentType: 'video/mp4', pieces: filmPieces(), isOfAnswer: true }
  const { url } = await keepFile(network, place, film)
  const nginx = await startNginx(hostUrl)
  const rates: { readonly ours: number[]; readonly theirs: number[] } = { ours: [], theirs: [] }
  const memory: number[] = []
  try {
    for (let round = 0; round <= ROUNDS; round++) {
      const before = memoryOf(pid).resident
      resetPeak(pid)
      const ours = await download(url)
      memory.push(memoryOf(pid).peak - before)
      const theirs = typeof nginx === 'string' ? 0 : await download(`${nginx.url}/film`)
      // The first round warms both up.
      if (round === 0) continue
      rates.ours.push(ours)
      rates.theirs.push(theirs)
    }
  } finally {
    if (typeof nginx !== 'string') nginx.stop()
  }
  const [ours, theirs] = [middle(rates.ours), middle(rates.theirs)]
  const measured = { what: `downloads of ${WHAT} that is kept`, figure: `${ours.toFixed(0)} MB/s` }
  return [
    { what: `memory of a download of ${WHAT}`, figure: added(memory) },
    typeof nginx === 'string'
      ? { ...measured, beside: `not compared: ${nginx}` }
      : { ...measured, beside: `${(ours / theirs).toFixed(2)} of nginx that relays it, ${theirs.toFixed(0)} MB/s` },
  ]
}

/** Megabytes per second of one download. */
function download(url: string): Promise<number> {
  const from = performance.now()
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (answer) => {
      let bytes = 0
      answer.on('data', (piece: Buffer) => {
        bytes += piece.length
      })
      answer.on('error', reject)
      answer.on('end', () => {
        if (answer.statusCode !== 200 || bytes !== FILM_BYTES) reject(new Error(`${answer.statusCode}, ${bytes} bytes`))
        else resolve(bytes / 1_000 / (performance.now() - from))
      })
    }).on('error', reject)
  })
}
