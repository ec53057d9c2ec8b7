import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findTool } from '#dev/services/find-tool.ts'
import { NGINX } from '#dev/services/tools.ts'
import { until } from '#test/support/run/until.ts'
import { MEASURED_CORE } from './market.ts'

const NGINX_PORT = 18_431

export type Nginx = { readonly url: string; readonly pid: number; stop(): void }

/** Starts a worker of nginx on the measured core. Returns a text with the reason where there is none. */
export async function startNginx(upstreamUrl: string): Promise<Nginx | string> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-nginx-'))
  let child: ChildProcess | undefined
  const stop = () => {
    child?.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const { words } = await findTool(NGINX)
    writeFileSync(join(folder, 'nginx.conf'), nginxConf(folder, upstreamUrl))
    const start = [...words, '-p', folder, '-c', 'nginx.conf', '-e', join(folder, 'error.log')]
    child = spawn('taskset', ['-c', String(MEASURED_CORE), ...start], { stdio: 'ignore' })
    const url = `http://127.0.0.1:${NGINX_PORT}`
    const ended = once(child, 'exit')
    await Promise.race([
      until('nginx answers', 10_000, async () => (await fetch(`${url}/v1/models`).catch(() => undefined))?.ok === true),
      ended.then(([code]) => Promise.reject(new Error(`nginx ended with ${code}`))),
    ])
    return { url, pid: child.pid ?? 0, stop }
  } catch (error) {
    stop()
    return error instanceof Error ? error.message : 'nginx did not start'
  }
}

/** Answers never wait on the disk, which would only slow nginx down. */
function nginxConf(folder: string, upstreamUrl: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder};`)
  return `daemon off; worker_processes 1; pid ${folder}/pid; events { worker_connections 1024; }
http {
  access_log off; ${temporary.join(' ')}
  upstream provider { server ${new URL(upstreamUrl).host}; keepalive 16; }
  server {
    listen 127.0.0.1:${NGINX_PORT};
    client_max_body_size 64m;
    location / {
      proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_max_temp_file_size 0;
    }
  }
}
`
}
