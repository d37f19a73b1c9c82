"""Where things are."""

from django.urls import path

from shop import views

urlpatterns = [
    path("purchases", views.pay),
    path("orders/<str:order>", views.order),
    path("stripe/events", views.hear),
    path("health", views.health),
]
