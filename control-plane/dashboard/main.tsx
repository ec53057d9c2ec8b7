import type { QueryClient } from '@tanstack/react-query'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { LiveProvider } from './data/live.tsx'
import { SettingsProvider } from './data/settings.tsx'
import { createCache } from './data/use-query.ts'
import { createPageRouter } from './routes.tsx'
import { ToastProvider } from './ui/toast.tsx'

/** The cache, with the data that the server wrote into the document: keys and values. */
function filledCache(text: string | undefined): QueryClient {
  const cache = createCache()
  const pairs: readonly (readonly [key: readonly string[], data: unknown])[] = JSON.parse(text ?? '[]')
  for (const [key, data] of pairs) cache.setQueryData(key, data)
  return cache
}

const place = document.getElementById('page')
if (place !== null) {
  const { known } = place.dataset
  const cache = filledCache(known)
  const router = createPageRouter()
  const draw = () =>
    createRoot(place).render(
      <StrictMode>
        <QueryClientProvider client={cache}>
          <SettingsProvider>
            <ToastProvider>
              <LiveProvider>
                <RouterProvider router={router} />
              </LiveProvider>
            </ToastProvider>
          </SettingsProvider>
        </QueryClientProvider>
      </StrictMode>,
    )
  // The server's drawing stays until the whole screen can replace it, not only the frame.
  if (known === undefined) draw()
  else router.load().then(draw, draw)
}
