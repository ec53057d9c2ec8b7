import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { LiveProvider } from './data/live.tsx'
import { SettingsProvider } from './data/settings.tsx'
import { createCache } from './data/use-query.ts'
import { createPageRouter } from './routes.tsx'
import { ToastProvider } from './ui/toast.tsx'

const RELOADED = 'mkt_reloaded_at'
const RELOAD_PAUSE_MS = 60_000

/** A part of an older release is gone: the page is loaded anew, once. */
function reloadOnce(event: Event): void {
  const last = Number(sessionStorage.getItem(RELOADED) ?? 0)
  if (Date.now() - last < RELOAD_PAUSE_MS) return
  event.preventDefault()
  sessionStorage.setItem(RELOADED, String(Date.now()))
  location.reload()
}

const place = document.getElementById('page')
if (place !== null) {
  addEventListener('vite:preloadError', reloadOnce)
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={createCache()}>
        <SettingsProvider>
          <ToastProvider>
            <LiveProvider>
              <RouterProvider router={createPageRouter()} />
            </LiveProvider>
          </ToastProvider>
        </SettingsProvider>
      </QueryClientProvider>
    </StrictMode>,
  )
}
