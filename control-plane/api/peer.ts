import type { FastifyRequest } from 'fastify'
import { networkOf } from '#shared/network-address.ts'

/** The network address of a request, as limits count it. */
export function peerOf({ ip }: Partial<Pick<FastifyRequest, 'ip'>>): string {
  return networkOf(ip)
}
