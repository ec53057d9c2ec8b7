import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir, userInfo } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { chromium } from 'playwright-core'

const unpack = promisify(brotliDecompress)
const run = promisify(execFile)

/** A Chromium of this machine, or the one inside its npm package, which needs only glibc. */
export async function startBrowser(): Promise<Browser> {
  const known = (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)))
    .find((path) => existsSync(path))
  const found = known === undefined ? await unpackedBrowser() : { executablePath: known, folder: undefined }
  const own =
    found.folder === undefined ? {} : { LD_LIBRARY_PATH: join(found.folder, 'lib'), FONTCONFIG_PATH: found.folder }
  return chromium.launch({
    executablePath: found.executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--font-render-hinting=none', '--headless'],
    env: { ...process.env, ...own },
  })
}

/** The package's own fonts, and those of the machine. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">market-fonts</cachedir>
  <alias><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
</fontconfig>
`

type Unpacked = { readonly executablePath: string; readonly folder: string }

/** Unpacks the browser once for this user and version. */
async function unpackedBrowser(): Promise<Unpacked> {
  const entry = createRequire(import.meta.url).resolve('@sparticuz/chromium')
  const root = entry.slice(0, entry.lastIndexOf(join('@sparticuz', 'chromium'))) + join('@sparticuz', 'chromium')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const folder = join(tmpdir(), `market-browser-${version}-${userInfo().uid}`)
  if (!existsSync(folder)) {
    const draft = mkdtempSync(`${folder}.`)
    const bin = join(root, 'bin')
    writeFileSync(join(draft, 'chromium'), await unpack(readFileSync(join(bin, 'chromium.br'))), { mode: 0o755 })
    for (const name of ['al2023', 'fonts', 'swiftshader']) {
      const tar = join(draft, `${name}.tar`)
      writeFileSync(tar, await unpack(readFileSync(join(bin, `${name}.tar.br`))))
      await run('tar', ['xf', tar, '-C', draft])
      rmSync(tar)
    }
    writeFileSync(join(draft, 'fonts.conf'), FONTS)
    try {
      renameSync(draft, folder)
    } catch (error) {
      rmSync(draft, { recursive: true, force: true })
      // A second process may have unpacked the same file first.
      if (!existsSync(folder)) throw error
    }
  }
  return { executablePath: join(folder, 'chromium'), folder }
}
